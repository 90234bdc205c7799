"""`hearth manage bootstrap`: what Hearth needs in Keystone, and the configuration to use it.

A run first compares Keystone with what Hearth needs, and changes nothing. Then it writes the
configuration with new passwords, and then it creates what is missing. So an error in the options
changes nothing, and an interrupted run can be repeated: the passwords are in the file.
"""
