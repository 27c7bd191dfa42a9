#!/bin/sh
# check_house.sh [BUILD] - prints what exceeds the budgets of the source tree, one line each. The budgets are in check_house.py.
# With a build folder it also checks the lines of help and the symbols of the library. Exit status 1 if a budget is exceeded.
cd "$(dirname "$0")/.." && exec python3 scripts/check_house.py "$@"
