"""Runs Hearth's migrations for Alembic, on the connection passed to it."""

from alembic import context

from hearth.store.schema import all_tables

connection = context.config.attributes["connection"]
context.configure(
    connection=connection,
    target_metadata=all_tables(),
    render_as_batch=connection.dialect.name == "sqlite",
    compare_type=True,
)
if connection.dialect.name == "sqlite":
    connection.exec_driver_sql("BEGIN IMMEDIATE")
    with context.begin_transaction():
        context.run_migrations()
    if connection.connection.dbapi_connection.in_transaction:
        connection.exec_driver_sql("COMMIT")
else:
    with context.begin_transaction():
        context.run_migrations()
    connection.commit()
