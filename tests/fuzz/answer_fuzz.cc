// A libFuzzer target: `make fuzz SECONDS=600`. Bytes behind the first NUL are the file that the prompt showed.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "tests/fuzz/answer_properties.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const size_t nul = input.find('\0');
  const std::string_view shown = nul == std::string_view::npos ? std::string_view() : input.substr(nul + 1);
  const std::string broken = fsr::testing::BrokenProperty(input.substr(0, nul), shown);
  if (!broken.empty()) {
    std::fprintf(stderr, "%s\n", broken.c_str());
    std::abort();
  }
  return 0;
}
