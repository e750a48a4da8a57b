// Asks CUPTI's tables of a chip, which needs no GPU, only the library.
#include "worker/profile/metric_host.h"

#include <catch2/catch.hpp>
#include <set>

#include "worker/profile/counter_set.h"
#include "worker/profile/instruction_families.h"

namespace fsr::cupti {
namespace {

// What a profile may cost: each pass is another run of the plan.
constexpr size_t kCuratedPassesMax = 12;

std::unique_ptr<MetricHost> Hopper() {
  const auto library = LoadLibrary();
  if (!library.ok()) {
    // Not having it is allowed; saying nothing about it is not.
    CHECK(std::string(library.status().message()).find("Install") != std::string::npos);
    WARN("not tested: " << library.status().message());
    return nullptr;
  }
  auto host = MetricHost::Create(**library, "GH100", {});
  INFO(host.status().ToString());
  REQUIRE(host.ok());
  return *std::move(host);
}

TEST_CASE("Hopper has every curated metric, and takes them in a dozen passes") {
  const auto host = Hopper();
  if (host == nullptr) return;
  const std::vector<std::string> metrics = CuratedMetrics();
  CHECK(host->Known(metrics) == metrics);
  auto image = host->ConfigImage(metrics);
  REQUIRE(image.ok());
  const auto passes = host->PassCount(*image);
  REQUIRE(passes.ok());
  CHECK(*passes <= kCuratedPassesMax);
}

TEST_CASE("Hopper has the counters of every instruction family") {
  const auto host = Hopper();
  if (host == nullptr) return;
  for (const char* prefix : {"wgmma.", "mma.sync", "wmma.mma", "ldmatrix.", "stmatrix.", "cp.async.ca", "cp.async.bulk",
                             "cp.reduce.async.bulk", "ld.global", "st.global", "ld.shared", "st.shared", "st.async",
                             "red.async", "red.global", "red.shared", "atom.global", "atom.shared"}) {
    INFO(prefix);
    const std::vector<std::string> metrics = MetricsOfInstruction(prefix);
    CHECK_FALSE(metrics.empty());
    CHECK(host->Known(metrics) == metrics);
  }
}

TEST_CASE("names that a chip does not know are dropped, the others stay in order") {
  const auto host = Hopper();
  if (host == nullptr) return;
  CHECK(host->Known({"dram__bytes_read.sum", "no__such_metric.sum", "lts__t_bytes.sum"}) ==
        std::vector<std::string>{"dram__bytes_read.sum", "lts__t_bytes.sum"});
}

TEST_CASE("a chip that CUPTI does not know is an error") {
  const auto library = LoadLibrary();
  if (!library.ok()) return;
  CHECK_FALSE(MetricHost::Create(**library, "NOCHIP", {}).ok());
}

}  // namespace
}  // namespace fsr::cupti
