#!/bin/sh
# Runs a test with the options that ThreadSanitizer needs beside libraries that
# were compiled without it; --config=tsan puts it before every test.
export TSAN_OPTIONS="ignore_noninstrumented_modules=1 history_size=7 suppressions=$PWD/tests/tsan_suppressions.txt ${TSAN_OPTIONS:-}"
exec "$@"
