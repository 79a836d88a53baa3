#!/bin/sh
# Runs before the package's files go: $1 is "upgrade" (deb) or 1 (rpm) where others take their places.
set -e
if [ "$1" = upgrade ] || [ "$1" = 1 ]; then
	exit 0
fi
if [ -d /run/systemd/system ]; then
	systemctl disable --now fanfold.service
fi
