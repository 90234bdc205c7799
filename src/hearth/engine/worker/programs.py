"""placeholder"""


class Programs: ...
