// Catch2 2's main takes 20 s to compile: once for all tests.
#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>
