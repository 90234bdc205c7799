#!/bin/sh
# Installs MySQL or MariaDB, has it listen on $port, and gives $username all rights on $database.
set -eu

if ! command -v mariadbd >/dev/null && ! command -v mysqld >/dev/null; then
  if command -v apt-get >/dev/null; then
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -q
    apt-get install -q -y mariadb-server
  else
    dnf install -q -y mariadb-server
  fi
fi
server=$(command -v mariadbd || command -v mysqld)

for folder in /etc/mysql/mariadb.conf.d /etc/mysql/mysql.conf.d /etc/my.cnf.d; do
  [ ! -d "$folder" ] || printf '[mysqld]\nbind-address = *\nport = %s\n' "$port" >"$folder/zz-port.cnf"
done

socket=/run/hearth-database.sock
if [ -d /run/systemd/system ]; then
  unit=mariadb
  systemctl cat mariadb >/dev/null 2>&1 || unit=mysql
  systemctl enable "$unit"
  systemctl restart "$unit"
  client() { mysql "$@"; }
else # no service manager: the server is a child of this script and stays
  data=/var/lib/hearth-database
  pid=$data/server.pid
  if [ ! -d "$data/mysql" ]; then
    mkdir -p "$data"
    mariadb-install-db --no-defaults --user=root --datadir="$data" \
      --auth-root-authentication-method=normal >/dev/null
  fi
  if [ -f "$pid" ]; then
    kill "$(cat "$pid")"
    while [ -f "$pid" ]; do sleep 1; done
  fi
  setsid "$server" --no-defaults --user=root --datadir="$data" --pid-file="$pid" \
    --socket="$socket" --bind-address=0.0.0.0 --port="$port" </dev/null >"$data/log" 2>&1 &
  client() { mysql --no-defaults --user=root --socket="$socket" "$@"; }
fi

tries=60
until echo 'SELECT 1' | client >/dev/null 2>&1; do
  tries=$((tries - 1))
  if [ "$tries" -eq 0 ]; then
    echo "the database does not answer" >&2
    exit 1
  fi
  sleep 1
done

text() { printf %s "$1" | sed "s/[\\\\']/\\\\&/g"; }
name=$(printf %s "$database" | sed 's/`/``/g')
account="'$(text "$username")'@'%'"
client <<END
CREATE DATABASE IF NOT EXISTS \`$name\`;
CREATE USER IF NOT EXISTS $account IDENTIFIED BY '$(text "$password")';
ALTER USER $account IDENTIFIED BY '$(text "$password")';
GRANT ALL PRIVILEGES ON \`$name\`.* TO $account;
END
