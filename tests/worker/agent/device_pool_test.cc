#include "worker/agent/device_pool.h"

#include <catch2/catch.hpp>

namespace fsr {

TEST_CASE("a list of devices is taken apart, and a GPU named twice is refused") {
  const auto two = DevicesOf("cuda:0,sim:h200");
  REQUIRE(two.ok());
  CHECK(*two == std::vector<std::string>{"cuda:0", "sim:h200"});
  CHECK(DevicesOf("sim:h200,sim:h200").ok());
  for (const char* wrong : {"", ",", "cuda:0,,cuda:1", "cuda:1,cuda:1"}) {
    INFO(wrong);
    CHECK(DevicesOf(wrong).status().code() == absl::StatusCode::kInvalidArgument);
  }
  CHECK_FALSE(DevicesOf([] {
                std::string many = "sim:h200";
                for (int i = 0; i < kPoolDevicesMax; ++i) many += ",sim:h200";
                return many;
              }())
                  .ok());
}

}  // namespace fsr
