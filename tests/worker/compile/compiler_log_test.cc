#include "worker/compile/compiler_log.h"

#include <catch2/catch.hpp>

namespace fsr {
namespace {

// As NVRTC 13.0 writes it with --ptxas-options=-v.
constexpr char kVerbose[] =
    "candidate.cu(1): warning #177-D: variable \"unused\" was declared but never referenced\n"
    "  __global__ void f(float*a){int unused; a[0]=1;}\n"
    "                                 ^\n"
    "\n"
    "ptxas info    : 0 bytes gmem\n"
    "ptxas info    : Compiling entry function '_Z3sumILi256EEvPf' for 'sm_90a'\n"
    "ptxas info    : Function properties for _Z3sumILi256EEvPf\n"
    "ptxas         .     48 bytes stack frame, 12 bytes spill stores, 20 bytes spill loads\n"
    "ptxas info    : Used 12 registers, used 1 barriers, 1024 bytes smem\n"
    "ptxas info    : Compile time = 2.916 ms\n"
    "ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async instructions are serialized\n"
    "ptxas info    : Compiling entry function 'g' for 'sm_90a'\n"
    "ptxas info    : Function properties for g\n"
    "ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
    "ptxas info    : Used 8 registers, used 0 barriers\n";

TEST_CASE("resource figures become data, warnings and advice stay text") {
  const CompilerLog log = ReadCompilerLog(kVerbose);
  REQUIRE(log.resources.size() == 2);
  CHECK(log.resources[0].kernel() == "_Z3sumILi256EEvPf");
  CHECK(log.resources[0].registers_per_thread() == 12);
  CHECK(log.resources[0].shared_bytes_static() == 1024);
  CHECK(log.resources[0].local_bytes_per_thread() == 48);
  CHECK(log.resources[0].spill_bytes() == 12);
  CHECK(log.resources[1].kernel() == "g");
  CHECK(log.resources[1].registers_per_thread() == 8);
  CHECK(log.resources[1].shared_bytes_static() == 0);
  CHECK(log.text.find("variable \"unused\"") != std::string::npos);
  CHECK(log.text.find("Potential Performance Loss") != std::string::npos);
  CHECK(log.text.find("registers") == std::string::npos);
  CHECK(log.text.find("stack frame") == std::string::npos);
  CHECK(log.text.find("Compile time") == std::string::npos);
  CHECK_FALSE(log.has_other_errors);
}

TEST_CASE("errors in launched names are told from errors in the file") {
  const std::string name_only =
      "__nv_name_map(3): error: identifier \"nope\" is undefined\n"
      "  #pragma nv_mangled_name nope\n"
      "                          ^\n"
      "\n"
      "__nv_name_map(3): error: Error in parsing name expression for lowered name lookup. Input name expression was: "
      "\" nope\"\n"
      "  #pragma nv_mangled_name nope\n"
      "                          ^\n"
      "\n"
      "2 errors detected in the compilation of \"candidate.cu\".\n";
  const CompilerLog names = ReadCompilerLog(name_only);
  CHECK(names.name_errors == std::vector<std::string>{"identifier \"nope\" is undefined"});
  CHECK_FALSE(names.has_other_errors);
  CHECK(names.text.find("nv_mangled_name") == std::string::npos);

  const CompilerLog both = ReadCompilerLog(
      "candidate.cu(4): error: identifier \"y\" is undefined\n  int x = y;\n          ^\n\n" + name_only);
  CHECK(both.has_other_errors);
  CHECK(both.text.find("identifier \"y\" is undefined") != std::string::npos);
  CHECK(both.text.find("nope") == std::string::npos);
}

TEST_CASE("a log is cut in its middle at the limit, and never within a character") {
  CHECK(CutMiddle("exact", 5) == "exact");
  std::string text;
  for (int i = 0; i < 1000; ++i) text += "ü";
  for (size_t most : {100u, 101u, 102u, 103u}) {
    const std::string cut = CutMiddle(text, most);
    CHECK(cut.size() <= most);
    CHECK(cut.find("bytes of the middle are left out") != std::string::npos);
    CHECK(cut.starts_with("ü"));
    CHECK(cut.ends_with("ü"));
  }
}

}  // namespace
}  // namespace fsr
