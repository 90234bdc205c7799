"""Broken requests to the three APIs, sent by the people of two tenants, in several threads.

    make fuzz-api                                60 minutes on PostgreSQL
    make fuzz-api MINUTES=4 DATABASE=mariadb     or sqlite
    make fuzz-api SEED=7

| module | contains |
| --- | --- |
| `canaries` | the words of a tenant, and who must not read which |
| `tenants` | a server, the people, and stacks and clusters full of canaries |
| `calls` | each route of each API, with requests that succeed |
| `mutate` | what is wrong with a request |
| `wire` | requests as bytes, and their answers |
| `judge` | what is wrong with an answer, and with a log |
| `run` | the threads, the counts and the command |
"""
