"""The one-line descriptions of the functions, by their names in templates.

`hearth.template.versions.function_text` reads them for `template-function-list`, the language
reference and the language server. A function from a package has its own `description`.
"""

from __future__ import annotations

from collections.abc import Mapping

TEXTS: Mapping[str, str] = {
    "get_param": "The value of a parameter, or of a path inside it.",
    "get_resource": "The reference id of a resource.",
    "get_attr": "An attribute of a resource, or the value of a path inside it.",
    "get_file": "A function for including a file inline.",
    "list_join": "The items of lists as one text, with a delimiter between them.",
    "str_replace": "A text in which keys are replaced by values, in one pass.",
    "str_replace_strict": "As str_replace; a key that is not found is an error.",
    "str_replace_vstrict": "As str_replace_strict; an empty value is an error too.",
    "str_split": "A text split at a delimiter, or one of its pieces.",
    "digest": "The digest of a text in hexadecimal, by a named algorithm.",
    "repeat": "A list made of a template, once for each combination of items.",
    "resource_facade": "Metadata or a policy of the parent resource of this stack.",
    "map_merge": "Several maps as one; later ones win.",
    "map_replace": "A map with some keys and values replaced.",
    "yaql": "The value of a YAQL expression over data.",
    "if": "One of two values, by a condition.",
    "filter": "A list without some values.",
    "make_url": "A URL made of its parts, properly encoded.",
    "list_concat": "Several lists as one.",
    "list_concat_unique": "Several lists as one, each value once.",
    "contains": "Whether a value is in a list, or a text in a text.",
    "equals": "Whether two values are equal.",
    "not": "Whether a condition does not hold.",
    "and": "Whether all conditions hold.",
    "or": "Whether any of the conditions holds.",
    "Ref": "The reference id of a resource, or the value of a parameter.",
    "Fn::GetAtt": "An attribute of a resource.",
    "Fn::GetAZs": "The names of the availability zones.",
    "Fn::FindInMap": "A value of the Mappings section.",
    "Fn::Join": "The items of a list as one text, with a delimiter between them.",
    "Fn::Split": "A text split at a delimiter.",
    "Fn::Replace": "A text in which keys are replaced by values, in one pass.",
    "Fn::Select": "One item of a list or a map.",
    "Fn::Base64": "A text, unchanged: Hearth encodes it where that is necessary.",
    "Fn::MemberListToMap": "A flat list of members as a map.",
    "Fn::ResourceFacade": "Metadata or a policy of the parent resource of this stack.",
    "Fn::If": "One of two values, by a condition.",
    "Fn::Equals": "Whether two values are equal.",
    "Fn::Not": "Whether a condition does not hold.",
    "Fn::And": "Whether all conditions hold.",
    "Fn::Or": "Whether any of the conditions holds.",
}
