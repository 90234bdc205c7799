"""`hearth manage bootstrap`: create the objects that Hearth needs in Keystone, and write the
configuration that uses them.

A run first compares Keystone with what Hearth needs, and changes nothing. Then it writes the
configuration file with new passwords, and last it creates what is missing in Keystone. So an error
in the options changes nothing. An interrupted run can be repeated, because the next run reads the
passwords from the file.
"""
