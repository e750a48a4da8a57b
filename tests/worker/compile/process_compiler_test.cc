#include <catch2/catch.hpp>
#include <thread>
#include <vector>

#include "absl/time/clock.h"
#include "common/status.h"
#include "worker/compile/compiler.h"

namespace fsr {
namespace {

constexpr char kKernels[] = R"(
#include <cuda_fp16.h>
namespace deep { __global__ void inside(float* a) { a[0] = 3; } }
__global__ void plain(float* a) { a[threadIdx.x] = N; }
extern "C" __global__ void unmangled(__half* a) { a[0] = __float2half(2.0f); }
template <int SIZE> __global__ void sum(float* a) {
  __shared__ float s[SIZE];
  s[threadIdx.x] = a[threadIdx.x];
  __syncthreads();
  a[threadIdx.x] = s[SIZE - 1 - threadIdx.x];
}
__device__ float helper(float x) { return x; }
)";

// Takes the front end far longer than any test waits, in constant memory.
constexpr char kEndless[] = R"(
template <int N> struct Fib { static constexpr int value = Fib<N - 1>::value + Fib<N - 2>::value; };
constexpr int Spin() { int x = 0; for (long i = 0; i < 4000000; ++i) x ^= int(i); return x; }
template <int N> struct Slow { static constexpr int value = Spin() + N + Slow<N - 1>::value; };
template <> struct Slow<0> { static constexpr int value = 0; };
__global__ void f(int* a) { a[0] = Slow<100>::value; }
)";

CompileRequest Request(std::string source, std::vector<std::string> kernels) {
  CompileRequest request;
  request.source = std::move(source);
  request.architecture = "sm_90a";
  request.kernels = std::move(kernels);
  return request;
}

std::unique_ptr<Compiler> NewCompiler(int process_count = 1) {
  return NewProcessCompiler(FSR_BIN_DIR "/compile_child", process_count);
}

TEST_CASE("a kernel file becomes PTX, machine code, names and resources") {
  auto compiler = NewCompiler();
  CompileRequest request = Request(kKernels, {"plain", "unmangled", "sum<256>", "deep::inside"});
  request.options = {"-DN=7"};
  auto result = compiler->Compile(request);
  REQUIRE(result.ok());
  INFO(result->log);
  REQUIRE(result->ok);
  const CompiledKernel& kernel = result->kernel;
  CHECK(kernel.lowered_names.at("plain") == "_Z5plainPf");
  CHECK(kernel.lowered_names.at("unmangled") == "unmangled");
  CHECK(kernel.lowered_names.at("sum<256>") == "_Z3sumILi256EEvPf");
  CHECK(kernel.lowered_names.at("deep::inside") == "_ZN4deep6insideEPf");
  CHECK(kernel.ptx.find(".target sm_90a") != std::string::npos);
  CHECK(kernel.ptx.find('\0') == std::string::npos);
  CHECK(kernel.ptx.find(".loc") != std::string::npos);
  CHECK(kernel.cubin.substr(0, 4) ==
        "\x7f"
        "ELF");
  REQUIRE(kernel.resources.size() == 4);
  CHECK(kernel.resources[2].kernel() == "sum<256>");
  CHECK(kernel.resources[2].shared_bytes_static() == 256 * sizeof(float));
  CHECK(kernel.resources[2].registers_per_thread() > 0);
  CHECK(result->log.find("ptxas") == std::string::npos);
}

TEST_CASE("a file that does not compile says where") {
  auto result = NewCompiler()->Compile(Request("__global__ void f() {\n  undefined_name();\n}\n", {"f"}));
  REQUIRE(result.ok());
  CHECK_FALSE(result->ok);
  CHECK(result->launch_error.empty());
  CHECK(result->log.find("candidate.cu(2): error: identifier \"undefined_name\" is undefined") != std::string::npos);
}

TEST_CASE("a file that goes beyond a limit of the architecture says which") {
  auto compiler = NewCompiler();
  const auto log = [&](const std::string& source) {
    CompileRequest request = Request(source, {"f"});
    request.want_cubin = true;
    auto result = compiler->Compile(request);
    REQUIRE(result.ok());
    CHECK_FALSE(result->ok);
    return result->log;
  };
  CHECK_THAT(
      log("__global__ void f(int* a) { int unused; __shared__ int s[100000]; s[threadIdx.x] = 1; a[0] = s[1]; }"),
      Catch::Contains("too much shared data"));
  CHECK_THAT(log("__constant__ int c[100000]; __global__ void f(int* a) { a[0] = c[threadIdx.x]; }"),
             Catch::Contains("too much global constant data"));
}

TEST_CASE("a compiler's log is text, whatever the source has it say") {
  auto result = NewCompiler()->Compile(Request("#pragma message \"\\xf6\\xdf\"\n__global__ void f() { nope; }", {"f"}));
  REQUIRE(result.ok());
  CHECK_FALSE(result->ok);
  CHECK_FALSE(result->timed_out);
  CHECK_THAT(result->log, Catch::Contains("nope"));
}

TEST_CASE("a launched name that is no kernel is told with the kernels there are") {
  auto compiler = NewCompiler();
  for (const char* name : {"nope", "sum", "helper", "sum<256"}) {
    CompileRequest request = Request(kKernels, {"plain", name});
    request.options = {"-DN=7"};
    auto result = compiler->Compile(request);
    REQUIRE(result.ok());
    INFO(name << ": " << result->launch_error << result->log);
    CHECK_FALSE(result->ok);
    CHECK(result->launch_error.find("inside, plain, unmangled, sum<…>") != std::string::npos);
  }
}

TEST_CASE("no file of this machine comes back in a compiler's log") {
  auto compiler = NewCompiler();
  for (const char* source : {"#include \"/etc/passwd\"\n", "%:include </etc/passwd>\n",
                             "#include \"../../../etc/passwd\"\n", "#line 1 \"/etc/x.cu\"\n#include \"passwd\"\n",
                             "__global__ void f() { asm(\"\\n#include \\\"/etc/passwd\\\"\\n\"); }\n",
                             "__global__ void f() { asm(\".include \\\"/etc/passwd\\\";\"); }\n"}) {
    auto result = compiler->Compile(Request(source, {}));
    REQUIRE(result.ok());
    INFO(result->log);
    CHECK_FALSE(result->ok);
    CHECK(result->log.find("root:") == std::string::npos);
  }
}

TEST_CASE("a standard header that the toolkit lacks is explained") {
  auto result = NewCompiler()->Compile(Request("#include <no_such_header>\n", {}));
  REQUIRE(result.ok());
  CHECK_FALSE(result->ok);
  CHECK(result->log.find("<cuda/std/") != std::string::npos);
}

TEST_CASE("a compile beyond its deadline is stopped, and the next one does not wait for it") {
  auto compiler = NewCompiler();
  REQUIRE(compiler->Compile(Request("__global__ void f() {}", {"f"})).ok());
  CompileRequest endless = Request(kEndless, {"f"});
  endless.time_limit = absl::Milliseconds(500);
  const absl::Time start = absl::Now();
  auto stopped = compiler->Compile(endless);
  REQUIRE(stopped.ok());
  CHECK_FALSE(stopped->ok);
  CHECK(stopped->timed_out);
  CHECK(stopped->log.find("0.5 s") != std::string::npos);
  CHECK(absl::Now() - start < absl::Seconds(10));
  auto next = compiler->Compile(Request("__global__ void f() {}", {"f"}));
  REQUIRE(next.ok());
  CHECK(next->ok);
}

TEST_CASE("an architecture that this compiler does not know becomes PTX for an older one") {
  CompileRequest request = Request("__global__ void f(int* a) { a[0] = 1; }", {"f"});
  request.architecture = "sm_9999";
  auto result = NewCompiler()->Compile(request);
  REQUIRE(result.ok());
  REQUIRE(result->ok);
  CHECK(result->kernel.cubin.empty());
  CHECK(result->kernel.ptx.find(".entry") != std::string::npos);
  CHECK(result->log.find("makes no machine code for sm_9999") != std::string::npos);
  request.architecture = "pentium";
  CHECK(absl::IsUnavailable(NewCompiler()->Compile(request).status()));
}

TEST_CASE("many threads share few processes") {
  auto compiler = NewCompiler(2);
  std::vector<std::thread> threads;
  std::atomic<int> right = 0;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&, i] {
      const std::string name = "kernel" + std::to_string(i);
      auto result = compiler->Compile(Request("extern \"C\" __global__ void " + name + "() {}", {name}));
      right += result.ok() && result->ok && result->kernel.lowered_names.at(name) == name;
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(right == 8);
}

TEST_CASE("a compiling program that is missing or always dies is trouble of ours") {
  CHECK(absl::IsNotFound(NewProcessCompiler("/no/such/worker", 1)->Compile(Request("", {})).status()));
  auto dying = NewProcessCompiler("/bin/false", 1)->Compile(Request("", {}));
  CHECK(absl::IsUnavailable(dying.status()));
  CHECK(MessageOf(dying.status()).find("exited with 1") != std::string::npos);
}

}  // namespace
}  // namespace fsr
