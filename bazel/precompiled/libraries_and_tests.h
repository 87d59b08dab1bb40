// The same, and GoogleTest.
#include "bazel/precompiled/libraries.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
