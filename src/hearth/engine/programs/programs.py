"""Programs of stacks: compiled without blocking the event loop; modules are cached by content.

A module depends on its content only, so equal nested stacks and repeated operations share a module.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any, Protocol

import msgspec
from msgspec import structs

from hearth.engine.core.decide import differing
from hearth.engine.core.predict import Traits
from hearth.engine.core.record import Record
from hearth.engine.programs.compute.compute import Compute
from hearth.model.cache import Cache
from hearth.model.span import Span
from hearth.model.unknown import unknown_in
from hearth.resources.base import Change, Child, ResourceContext, ResourceType
from hearth.resources.capabilities import (
    AnyProperty,
    MakesObject,
    NestedType,
    ReplacedAlways,
    UpdatedAlways,
)
from hearth.resources.index import REVIVED
from hearth.resources.read_back import only_grow
from hearth.resources.registry import type_of_kind
from hearth.schema import Findings, Prop, coerce_all
from hearth.store.rows import Revision, StackRow, characters_of
from hearth.template import (
    Environment,
    Facade,
    Limits,
    Module,
    Program,
    ResourceDefinition,
    TypeCatalog,
    compile_template,
    load,
    module_key,
)
from hearth.template.compile import draft_template
from hearth.template.defaults import DEFAULTS
from hearth.template.members import MEMBER, attributes_below, names_read
from hearth.template.values import Stack

MODULES_MAX = 200
PROGRAMS_MAX = 50
CONTENTS_MAX = 20  # few, because the keys contain the texts
CHARACTERS_MAX = 1_000_000
TEXT_SHARE = 16  # how many times less memory a text needs that is not compiled
"""The maximum total length of the source texts of all cached items, in characters. A module needs
several hundred bytes of memory per character.
"""
Sources = tuple[str, Mapping[str, str], Environment, TypeCatalog, Limits]
_Content = tuple[str, frozenset[tuple[str, str]], str]


def read_of(
    program: Program | None, revision: Revision, name: str, rtype: ResourceType
) -> set[str]:
    """Return the attributes of a resource that other resources, outputs or a parent stack read.

    If `program` is None, only those that a parent stack reads are known.
    """
    names = {n for n in revision.exports if n in rtype.attributes}
    if revision.exports and isinstance(rtype, NestedType):
        names.update(n for n in revision.exports if n.startswith(MEMBER))
    if program is not None:
        names |= names_read(program.reads.get(name, ()))
    return names


def compiled(
    template: str,
    files: Mapping[str, str],
    environment: Environment,
    catalog: TypeCatalog,
    limits: Limits,
) -> Module:
    """Compile a template text with its files and its environment, and return the module. Raises
    Rejected.
    """
    return compile_template(
        template, files=files, environment=environment, catalog=catalog, limits=limits
    )


def drafted(
    template: str,
    files: Mapping[str, str],
    environment: Environment,
    catalog: TypeCatalog,
    limits: Limits,
) -> Module:
    """Compile a template text even if it has problems; return the module with its list of problems.

    Raises Rejected if the text cannot be read as a template.
    """
    return draft_template(
        load(template, limits=limits),
        files=files,
        parsed={},
        environment=environment,
        catalog=catalog,
        limits=limits,
    )


def specialised(
    module: Module,
    parameters: Mapping[str, Any],
    identity: Stack,
    facade: Mapping[str, Any] | None,
    resources: bool = True,
) -> Program:
    """Return the program of a stack: its module with parameter values. Raises Rejected.

    `identity` has the name and the ids of the stack. `facade` is its resource in the parent stack,
    or empty for a root stack. If `resources` is false, the program has only parameters and outputs.
    """
    return module.specialise(
        parameters,
        stack_name=identity.name,
        stack_id=identity.id,
        project_id=identity.project_id,
        facade=Facade(**facade) if facade else None,
        resources=resources,
    )


def _content_key(revision: Revision) -> _Content:
    variant = repr((revision.environment, bool(revision.facade)))
    return revision.template, frozenset(revision.files.items()), variant


def _weight(template: str, module: Module) -> int:
    """Return about how much memory a module needs, in characters of the templates in it.

    Most of it is for what was compiled. The other files are texts, which nested stacks share.
    """
    names, waiting = set[str](), [module]
    while waiting:
        for binding in waiting.pop().bindings.values():
            if binding.child is not None and binding.entry is not None:
                if binding.entry.template not in names:
                    waiting.append(binding.child)
                names.add(binding.entry.template)
    compiled_texts = sum(len(module.files.get(name, "")) for name in names)
    return len(template) + compiled_texts + sum(map(len, module.files.values())) // TEXT_SHARE


class NestedTypes(Protocol):
    """A function that returns the resource type for a template used as a type."""

    def __call__(self, module: Module | None) -> ResourceType: ...


class Programs:
    """Compiles the revisions of stacks, and finds the resource types of records.

    `template_type` returns the type of a resource whose type is a template; without a module that
    type supports only delete. `base` is the operator's environment. A stack's own environment
    overrides it, but files of a user never replace the templates that `base` names.
    """

    def __init__(
        self,
        catalog: TypeCatalog,
        *,
        template_type: NestedTypes,
        base: Environment = DEFAULTS,
        limits: Limits | None = None,
        compute: Compute | None = None,
    ) -> None:
        self.catalog = catalog
        self.base = base
        self.limits = limits or Limits()
        self._template_type = template_type
        self.compute = compute or Compute()
        self._contents = Cache[_Content, tuple[Environment, Module]](CONTENTS_MAX, CHARACTERS_MAX)
        self._modules = Cache[str, Module](MODULES_MAX, CHARACTERS_MAX)
        self._known_traits: dict[tuple[ResourceType, bool], Traits] = {}  # of built-in types
        self._programs = Cache[bytes, tuple[Module, Program]](PROGRAMS_MAX, CHARACTERS_MAX)

    async def of(self, stack: StackRow, revision: Revision) -> Program:
        """Return the program of a stack's revision. Raises Rejected.

        The last few programs are cached, because the API and the engine need the same one for a
        request. Equal nested stacks share a program, unless their template reads their names.
        """
        environment, module = await self._content(stack.project_id, revision)
        identity = Stack(stack.name, stack.id, stack.project_id)
        shared = stack.parent_id is not None and module.impersonal
        scope = stack.project_id if shared else identity
        parameters = {**environment.parameters, **revision.parameters}
        key = msgspec.json.encode((scope, parameters, revision.facade), enc_hook=str)
        cached = self._programs.get(key)
        if cached is not None and cached[0] is module:
            program = cached[1]
            return program if program.stack == identity else program.of_stack(identity)
        program = await self.compute.run(
            specialised, module, parameters, identity, revision.facade, project=stack.project_id
        )
        self.compute.share(module, program.module)
        module = program.module  # not the same object if the program came from another process
        self._keep_content(revision, environment, module)
        self._programs.keep(key, (module, program), _weight(revision.template, module))
        return program

    async def results_of(self, stack: StackRow, revision: Revision) -> Program:
        """Return the program of a stack's revision without its resources. Raises Rejected.

        It has the parameters and the outputs, for a stack that is read only now and then. It is not
        cached.
        """
        environment, module = await self._content(stack.project_id, revision)
        identity = Stack(stack.name, stack.id, stack.project_id)
        parameters = {**environment.parameters, **revision.parameters}
        return await self.compute.run(
            specialised,
            module,
            parameters,
            identity,
            revision.facade,
            False,
            project=stack.project_id,
        )

    async def _content(self, project: str, revision: Revision) -> tuple[Environment, Module]:
        """Return the environment of a revision and its module. Raises Rejected."""
        content = self._contents.get(_content_key(revision))
        if content is None:
            of_child = bool(revision.facade)
            parsed = structs.replace(Environment.parse(revision.environment), of_child=of_child)
            content = parsed, await self.module(revision.template, revision.files, parsed, project)
        self._keep_content(revision, *content)
        return content

    def _keep_content(self, revision: Revision, environment: Environment, module: Module) -> None:
        key = _content_key(revision)
        self._contents.keep(key, (environment, module), revision.characters)

    async def module(
        self,
        template: str,
        files: Mapping[str, str],
        environment: Environment,
        project: str = "",
    ) -> Module:
        """Return the module of a template text, from the cache if possible. Raises Rejected.

        `environment` and `files` are those of the user; they are combined with the operator's.
        """
        environment, files = self.under_base(environment, files)
        key = module_key(template, files=files, environment=environment, limits=self.limits)
        cached = self._modules.get(key)
        if cached is not None:
            return cached
        characters = characters_of(template, files)
        module = await self.compute.run(
            compiled,
            *(template, files, environment, self.catalog, self.limits),
            project=project,
            characters=characters,
        )
        self._modules.keep(key, module, _weight(template, module))
        return module

    def sources(self, revision: Revision) -> Sources:
        """Return the arguments of `compiled` and `drafted` for a revision.

        Raises Rejected if the environment of the revision is invalid.
        """
        environment = Environment.parse(revision.environment)
        environment, files = self.under_base(environment, revision.files)
        return revision.template, files, environment, self.catalog, self.limits

    def under_base(
        self, environment: Environment, files: Mapping[str, str]
    ) -> tuple[Environment, Mapping[str, str]]:
        """Return the environment and the files of a stack, combined with those of the operator."""
        files = {**files, **self.base.texts} if self.base.texts else files
        return structs.replace(environment, base=self.base), files

    def rtype_of(self, definition: ResourceDefinition) -> ResourceType:
        """Return the resource type of a definition."""
        if definition.child is not None:
            return self._template_type(definition.child)
        assert isinstance(definition.type_info, ResourceType)
        return definition.type_info

    def traits_of(self, definition: ResourceDefinition, *, updating: bool = True) -> Traits:
        """Return the traits of a definition's type, on which predictions depend.

        `updating` is false in a rollback: a rollback replaces a resource only because of a changed
        property or a failure, never because of its type alone.
        """
        rtype = self.rtype_of(definition)
        if definition.child is not None:
            return self._traits(rtype, updating=updating)
        traits = self._known_traits.get((rtype, updating))
        if traits is None:
            traits = self._traits(rtype, updating=updating)
            self._known_traits[rtype, updating] = traits
        return traits

    def _traits(self, rtype: ResourceType, *, updating: bool) -> Traits:
        asks = type(rtype).replace_failed is not ResourceType.replace_failed

        def succeeds(old: str) -> bool:
            before = self.rtype_named(old)
            return isinstance(before, MakesObject) and before.substitute == rtype.recorded_as

        def as_made(record: Record, written: Mapping[str, Any]) -> Traits | None:
            before = self.as_made(record, rtype, written)
            if before is None:
                return None
            traits = self._traits(before, updating=updating)
            return structs.replace(
                traits, must_replace=lambda _before, _after, changes: _new_form(changes)
            )

        return Traits(
            name=rtype.recorded_as,
            schema=rtype.properties,
            must_replace=lambda before, after, changes: rtype.must_replace(
                Change(before, after, changes)
            ),
            nested=isinstance(rtype, NestedType),
            always=isinstance(rtype, ReplacedAlways) and updating,
            always_updated=isinstance(rtype, UpdatedAlways) and updating,
            replace_failed=(False if isinstance(rtype, NestedType) else None) if asks else True,
            makes_object=isinstance(rtype, MakesObject),
            rules=rtype.translation,
            only_grow=only_grow(rtype),
            succeeds=succeeds,
            as_made=as_made,
        )

    def leaves_alone(self, module: Module) -> bool:
        """Return whether an update that changes no value needs no work of the engine.

        That is the case if the template has no nested stacks, no hooks, and no types that every
        update replaces or updates.
        """
        for name, binding in module.bindings.items():
            rtype = binding.type_info
            if binding.child is not None or not isinstance(rtype, ResourceType):
                return False
            always = isinstance(rtype, NestedType | ReplacedAlways | UpdatedAlways)
            if always or module.environment.hooks(name):
                return False
        return True

    def rtype_named(self, name: str) -> ResourceType | None:
        """Return the resource type with the name that a record stores, or None if it is not
        installed.
        """
        template = self._template_type(None)
        if name == template.name:
            return template
        return type_of_kind(name, self.catalog)

    def type_of(self, record: Record) -> ResourceType | None:
        """Return the resource type of a record, or None if it is not installed.

        It is the type of the last successful action; before that, the type in the template.
        """
        return self.rtype_named(record.held.kind or record.type)

    def holds_data(self, record: Record) -> bool:
        """Return whether the object of a record has data of users, which a delete destroys."""
        rtype = self.type_of(record)
        return isinstance(rtype, MakesObject) and rtype.holds_data

    def has_other_form(self, record: Record, rtype: ResourceType) -> bool:
        """Return whether another form of the type `rtype` made the record.

        A retired type is a placeholder or revived, and the operator may switch between the two.
        """
        if record.new or rtype.name not in REVIVED:
            return False
        before = self.type_of(record)
        return (
            before is not None
            and before.name == rtype.name
            and before.recorded_as != rtype.recorded_as
        )

    def may_be_revived(self, record: Record) -> bool:
        """Return whether the record is a placeholder of a type that is revived now.

        Its reference id is no id of an object, so it cannot be looked up in the cloud.
        """
        name = record.held.kind
        now = self.catalog.find(name) if name in REVIVED else None
        return isinstance(now, ResourceType) and self.has_other_form(record, now)

    def as_made(
        self, record: Record, rtype: ResourceType, written: Mapping[str, Any]
    ) -> ResourceType | None:
        """Return the type that made a record, if that is another form of `rtype` and the properties
        are unchanged; otherwise None.

        `written` are the desired properties; unknown values count as unchanged. A placeholder
        stores properties as the template has them, the other form stores them with defaults.
        """
        before = self.type_of(record)
        if before is None or not self.has_other_form(record, rtype):
            return None
        schema = (rtype if isinstance(before, AnyProperty) else before).properties
        desired = {name: value for name, value in written.items() if unknown_in(value) is None}
        lost = written.keys() - desired.keys()
        recorded = {name: value for name, value in record.held.written.items() if name not in lost}
        return before if _alike(schema, recorded, desired) else None

    def types_of(self, records: Mapping[str, Record]) -> dict[str, ResourceType]:
        """Return the resource types of the given records, by the same keys; records whose type is
        not installed are left out.
        """
        types = {key: self.type_of(record) for key, record in records.items()}
        return {key: rtype for key, rtype in types.items() if rtype is not None}

    def child_revision(
        self,
        program: Program,
        definition: ResourceDefinition,
        ctx: ResourceContext,
        child: Child,
        exports: Iterable[str],
    ) -> Revision:
        """Return the desired revision of a nested stack.

        `program` is that of the parent stack, and `definition` and `ctx` belong to the resource
        there; `child` is what the resource's type returned. The revision has its own parameters,
        and the files and the resource registry of its parent. `exports` are the attributes that the
        parent's own parent stack reads; some of them are computed from values of this nested stack.
        """
        module = program.module
        entry = module.bindings[definition.name].entry
        environment = module.environment.for_child(definition.name, entry)
        template = child.template
        rtype = self.rtype_of(definition)
        member_attributes = (
            rtype.member_attributes if isinstance(rtype, NestedType) else frozenset()
        )
        through = [(name,) for name in exports if name.startswith(MEMBER)]
        return Revision(
            template=template if isinstance(template, str) else json.dumps(template),
            files=dict(module.files),
            environment=environment.as_map(),
            parameters=dict(child.parameters),
            exports=sorted(
                member_attributes
                | attributes_below([*program.reads.get(definition.name, ()), *through])
            ),
            facade={
                "metadata": dict(ctx.metadata),
                "deletion_policy": str(definition.deletion_policy),
                "update_policy": dict(ctx.update_policy),
            },
        )


def _new_form(changes: frozenset[str]) -> str | None:
    return "a change replaces it by the form that the setting selects" if changes else None


def _alike(schema: Mapping[str, Prop], before: Mapping[str, Any], after: Mapping[str, Any]) -> bool:
    """Return whether two maps of properties are equal after conversion to a schema."""
    if before == after:
        return True
    findings = Findings(constrain=False, require=False)
    first, second = (
        coerce_all(schema, properties, Span(), findings) for properties in (before, after)
    )
    return not findings.problems and not differing(first, second)
