#include "worker/compile/source_scan.h"

#include <catch2/catch.hpp>

#include "common/status.h"

namespace fsr {
namespace {

TEST_CASE("headers of the toolkit are included by plain names") {
  for (const char* source : {
           "#include <cuda_fp16.h>\n",
           "#include \"mma.h\"\n#include <cub/block/block_reduce.cuh>\n",
           "  #  include /* why not */ <cuda/std/cstdint> // for int32_t\n",
           "#if __has_include(<cuda/barrier>)\n#include <cuda/barrier>\n#endif\n",
           "#ifdef __has_include\n#endif\n#if defined(__has_include) && defined __has_include\n#endif\n",
       }) {
    INFO(source);
    CHECK(CheckIncludes(source).ok());
  }
}

TEST_CASE("what looks like an include but is none is no concern") {
  for (const char* source : {
           "// #include \"/etc/passwd\"\n",
           "/* \n#include \"/etc/passwd\"\n*/\n",
           "const char* s = \"\\\n#include /etc/passwd\";\n",
           "int include = 1; // a name\n",
           "#define X(a) #a\n",
           "x = a # include;\n",
           "const char* path = \"/etc/passwd\";\n",
           "int n = 1'000'000; // it's a number\n",
           "#pragma unroll\nfor (;;) {}\n",
       }) {
    INFO(source);
    CHECK(CheckIncludes(source).ok());
  }
}

// Each of these was seen to open the file, with NVRTC 13.0, or would with another reading of the language.
TEST_CASE("no spelling of an include reaches a file outside the toolkit") {
  for (const char* source : {
           "#include \"/etc/passwd\"\n",
           "#include </etc/passwd>\n",
           "#include \"../../../../etc/passwd\"\n",
           "#include \"cub/../../../../../etc/passwd\"\n",
           "#include \"..\"\n",
           "#include_next </etc/passwd>\n",
           "#import \"/etc/passwd\"\n",
           "const char c[] = {\n#embed \"/etc/passwd\"\n};\n",
           "%:include \"/etc/passwd\"\n",
           "%\\\n:include \"/etc/passwd\"\n",
           "?\?=include \"/etc/passwd\"\n",
           "#inc\\\nlude \"/etc/passwd\"\n",
           "#include \"/e\\\ntc/passwd\"\n",
           "#\\\r\ninclude \"/etc/passwd\"\n",
           "/* */ # /**/ include /* \n */ \"/etc/passwd\"\n",
           "\f\v #include \"/etc/passwd\"\n",
           "#define HEADER \"/etc/passwd\"\n#include HEADER\n",
           "#define HEADER </etc/passwd>\n#include /* x */ HEADER\n",
           "// a comment that ends here \\ \n#include \"/etc/passwd\"\n",
           "// a comment that ends here ?\?/\n#include \"/etc/passwd\"\n",
           "const char* s = R\"(/*)\";\n#include \"/etc/passwd\"\n// */\n",
           "const char* s = R\"(x)\\\n\" /* )\";\n#include \"/etc/passwd\"\n// */\n",
           "#if 0\n R\"a b /* \n#endif\n#include \"/etc/passwd\"\n// */\n",
           "#if 0\n \"no end /* \n#endif\n#include \"/etc/passwd\"\n// */\n",
           "#if 0\n don't /* \n#endif\n*/\n#include \"/etc/passwd\"\n",
           "int a = 1'0 + '/*';\n#include \"/etc/passwd\"\n// */\n",
           "#include <a//b>\n#include \"/etc/passwd\"\n",
           "#include <a/*b>\n#include \"/etc/passwd\"\n//*/\n",
           "#if __has_include(\"/etc/passwd\")\n#endif\n",
           "#define ASK __has_include\n#if ASK(\"/etc/passwd\")\n#endif\n",
           "#define FILE \"/etc/passwd\"\n#if __has_include(FILE)\n#endif\n",
           "#include \"a\\b.h\"\n",
           "#include\n",
           "#include \"/etc/passwd",
       }) {
    INFO(source);
    CHECK(absl::IsInvalidArgument(CheckIncludes(source)));
  }
}

TEST_CASE("a refused include is named with its line") {
  const std::string message = MessageOf(CheckIncludes("int a;\n/*\n*/ int b; \\\n int c;\n#include \"/etc/passwd\"\n"));
  CHECK(message.starts_with("Line 5: the absolute path \"/etc/passwd\" cannot be included."));
  CHECK(message.find("<cuda/std/cstdint>") != std::string::npos);
  CHECK(absl::IsInvalidArgument(CheckIncludes(std::string_view("int a;\0int b;", 13))));
}

TEST_CASE("kernels are found by their definitions") {
  const char* source = R"(
    // __global__ void commented_out() {}
    extern "C" __global__ void plain(float* x) {}
    template <int N, typename T = float>
    __global__ void __launch_bounds__(256, 2) templated(T* x) {}
    static __global__ __cluster_dims__(2, 1, 1) void clustered(int n) {}
    const char* text = "__global__ void in_a_string() {}";
    __device__ int helper(int a) { return a; }
    __global__ void plain(float* x);
  )";
  CHECK(KernelNames(source) == std::vector<std::string>{"plain", "templated<…>", "clustered"});
  CHECK(KernelNames("int main() {}").empty());
}

}  // namespace
}  // namespace fsr
