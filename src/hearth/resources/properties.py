"""Declarations of properties that many types share."""

from hearth.schema import BOOLEAN, LIST, MAP, STRING, Prop

ADMIN_STATE_UP = Prop(BOOLEAN, "true: it is enabled.", default=True, update_allowed=True)
DESCRIPTION = Prop(STRING, "Description.", default="", update_allowed=True)
ENABLED = Prop(BOOLEAN, "true: it can be used.", default=True, update_allowed=True)
FIXED_NAME = Prop(STRING, "Its name; generated when not given.")
NAME = Prop(STRING, "Its name; generated when not given.", update_allowed=True)
OPTIONAL_DESCRIPTION = Prop(STRING, "Description.", update_allowed=True)
SHARED = Prop(
    BOOLEAN,
    "true: every project can use it; for administrators.",
    default=False,
    update_allowed=True,
)
TAGS = Prop(
    LIST,
    "Tags: arbitrary words for filtering.",
    update_allowed=True,
    schema=Prop(STRING),
    since="9.0.0",
)
TENANT_ID = Prop(
    STRING, "The project it belongs to; only administrators may choose another project."
)
VALUE_SPECS = Prop(
    MAP,
    "Further fields for the API call, passed on as they are.",
    default={},
    update_allowed=True,
)
