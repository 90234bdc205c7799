"""Whatever comes in, what comes out is a value or a problem with a type.

`checks` says what must be true, `strategies` what may come in, `targets` puts the two together.
The suite tries some of it each time (`test_targets`), `make fuzz-compiler` as much as there is
time for. What was once found is kept in `corpus` and tried again by `test_corpus`; `bombs` are
inputs of which each is small and asks for the impossible. `api` is about running servers.
"""
