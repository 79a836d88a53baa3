#!/bin/sh
# Runs after the package's files went. The data stays, also after a purge, and so does its user.
set -e
if [ -d /run/systemd/system ]; then
	systemctl daemon-reload
fi
if { [ "$1" = remove ] || [ "$1" = purge ] || [ "$1" = 0 ]; } && [ -d /var/lib/fanfold ]; then
	echo "fanfold: the data in /var/lib/fanfold is still there: remove it by hand if nobody needs it"
fi
