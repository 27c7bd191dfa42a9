#!/bin/sh
# check_house.sh [BUILD] - what exceeds the budgets of the source tree, a line each. The budgets stand in check_house.py.
# With a build folder, the lines of help and the symbols of the library are checked too. Status 1 if a budget is exceeded.
cd "$(dirname "$0")/.." && exec python3 scripts/check_house.py "$@"
