"""Physical names."""

import re
import uuid

from hearth.engine.core.naming import physical_name, short_id


def test_the_same_record_has_the_same_name_and_another_has_another():
    one, other = str(uuid.uuid4()), str(uuid.uuid4())
    assert physical_name("web", "db", one) == physical_name("web", "db", one)
    assert short_id(one) != short_id(other)
    assert re.fullmatch(r"web-db-[a-z2-7]{12}", physical_name("web", "db", one))


def test_a_name_over_the_limit_keeps_two_characters_and_the_tail():
    name = physical_name("a-very-long-stack-name", "resource", str(uuid.uuid4()), 30)
    assert len(name) == 30
    assert name.startswith("a--")
