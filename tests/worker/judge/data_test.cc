#include "worker/judge/data.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <ctime>
#include <set>

#include "common/element_type.h"
#include "common/status.h"
#include "worker/judge/host_buffer.h"

namespace fsr {
namespace {

v1::Parameter Input(v1::ElementType type, const std::string& low = "", const std::string& high = "") {
  v1::Parameter parameter;
  parameter.set_name("x");
  parameter.set_type(type);
  parameter.set_role(v1::Parameter::INPUT);
  if (!low.empty()) parameter.mutable_data()->set_low(low);
  if (!high.empty()) parameter.mutable_data()->set_high(high);
  return parameter;
}

v1::Case Sizes(std::map<std::string, int64_t> sizes) {
  v1::Case which;
  for (const auto& [name, value] : sizes) (*which.mutable_sizes())[name] = value;
  return which;
}

std::vector<double> Draw(const v1::Parameter& parameter, const v1::Case& which, size_t count, uint64_t seed = 1) {
  const auto data = ResolveData(parameter, which, static_cast<int64_t>(count));
  REQUIRE(data.ok());
  const size_t size = SizeOf(parameter.type());
  HostBuffer buffer(count * size);
  FillData(*data, seed, buffer.bytes());
  std::vector<double> values;
  for (size_t i = 0; i < count; ++i) {
    values.push_back(LoadAsDouble(parameter.type(), buffer.bytes().data() + i * size));
  }
  return values;
}

constexpr v1::ElementType kAllTypes[] = {v1::F16, v1::BF16, v1::F32, v1::F64, v1::I8,  v1::I16,
                                         v1::I32, v1::I64,  v1::U8,  v1::U16, v1::U32, v1::U64};

TEST_CASE("without a data field floats lie in [-1, 1) and integers in [0, 128)") {
  for (const v1::ElementType type : kAllTypes) {
    CAPTURE(NameOf(type));
    const std::vector<double> values = Draw(Input(type), {}, 10001);
    const auto [lowest, highest] = std::minmax_element(values.begin(), values.end());
    const bool is_float = IsFloatingPoint(type);
    CHECK(*lowest >= (is_float ? -1 : 0));
    CHECK(*highest < (is_float ? 1 : 128));
    CHECK(*lowest < (is_float ? -0.99 : 1));  // the whole range is used
    CHECK(*highest > (is_float ? 0.99 : 126));
    double sum = 0;
    for (const double value : values) sum += value;
    // The mean of 10001 uniform values, within 5 standard errors.
    const double mean = is_float ? 0 : 63.5, deviation = (is_float ? 2 : 128) / std::sqrt(12.0 * 10001);
    CHECK(std::abs(sum / 10001 - mean) < 5 * deviation);
  }
}

TEST_CASE("the open end of a float range is never reached, not even by rounding") {
  // From 1 to the value after 1: half of all draws round up to the bound.
  for (const v1::ElementType type : {v1::F16, v1::BF16, v1::F32}) {
    CAPTURE(NameOf(type));
    const std::string high = type == v1::F32   ? "1.00000011920928955078125"
                             : type == v1::F16 ? "1.0009765625"
                                               : "1.0078125";
    for (const double value : Draw(Input(type, "1", high), {}, 4097)) REQUIRE(value == 1);
    for (const double value : Draw(Input(type, "-3", "0"), {}, 4097)) REQUIRE(value < 0);
  }
}

TEST_CASE("integer bounds may be size expressions, and every value between them occurs") {
  const std::vector<double> values = Draw(Input(v1::I32, "-2", "bins - 3"), Sizes({{"bins", 7}}), 1000);
  CHECK(std::set<double>(values.begin(), values.end()) == std::set<double>{-2, -1, 0, 1, 2, 3});
  const std::vector<double> bytes = Draw(Input(v1::U8, "0", "256"), {}, 100000);
  CHECK(std::set<double>(bytes.begin(), bytes.end()).size() == 256);
  const std::vector<double> words = Draw(Input(v1::U64, "9223372036854775808", "18446744073709551615"), {}, 1000);
  CHECK(*std::min_element(words.begin(), words.end()) >= 0x1p63);
  CHECK(*std::max_element(words.begin(), words.end()) > 1.9 * 0x1p63);
}

TEST_CASE("the data of a case replace those of the parameter") {
  v1::Case which;
  v1::Data& data = (*which.mutable_data())["x"];
  data.set_distribution(v1::Data::CONSTANT);
  data.set_low("17");
  for (const double value : Draw(Input(v1::I16, "0", "5"), which, 99)) REQUIRE(value == 17);
  data.set_low("-2.5");
  for (const double value : Draw(Input(v1::BF16), which, 99)) REQUIRE(value == -2.5);
}

TEST_CASE("normal data have the mean and the deviation asked for, in every type") {
  v1::Parameter parameter = Input(v1::F32);
  parameter.mutable_data()->set_distribution(v1::Data::NORMAL);
  parameter.mutable_data()->set_mean(20);
  parameter.mutable_data()->set_standard_deviation(5);
  for (const v1::ElementType type : kAllTypes) {
    CAPTURE(NameOf(type));
    parameter.set_type(type);
    constexpr size_t kCount = 40001;
    const std::vector<double> values = Draw(parameter, {}, kCount);
    double sum = 0, squares = 0;
    size_t within_one = 0;
    for (const double value : values) {
      sum += value;
      squares += (value - 20) * (value - 20);
      within_one += std::abs(value - 20) < 5 ? 1 : 0;
    }
    CHECK(std::abs(sum / kCount - 20) < 0.15);
    CHECK(std::abs(std::sqrt(squares / kCount) - 5) < 0.1);
    if (type == v1::F32 || type == v1::F64) {  // 68.27 % of a normal distribution
      CHECK(std::abs(static_cast<double>(within_one) / kCount - 0.6827) < 0.012);
    }
  }
}

TEST_CASE("the same seed gives the same data, another seed gives other data") {
  const auto a = Draw(Input(v1::F32), {}, 1000, 5), b = Draw(Input(v1::F32), {}, 1000, 5),
             c = Draw(Input(v1::F32), {}, 1000, 6);
  CHECK(a == b);
  size_t equal = 0;
  for (size_t i = 0; i < a.size(); ++i) equal += a[i] == c[i] ? 1 : 0;
  CHECK(equal < 5);
  CHECK(std::set<double>(a.begin(), a.end()).size() > 990);
}

TEST_CASE("data that cannot be drawn are refused with the parameter's name") {
  const auto refused = [](const v1::Parameter& parameter, const v1::Case& which) {
    const auto data = ResolveData(parameter, which, 10);
    return data.ok() ? std::string("accepted") : MessageOf(data.status());
  };
  CHECK_THAT(refused(Input(v1::I32, "0", "banana"), Sizes({{"bins", 7}})), Catch::Contains("banana"));
  CHECK_THAT(refused(Input(v1::I32, "5", "5"), {}), Catch::Contains("parameter x") && Catch::Contains("5"));
  CHECK_THAT(refused(Input(v1::U8, "0", "257"), {}), Catch::Contains("257") && Catch::Contains("u8"));
  CHECK_THAT(refused(Input(v1::U8, "-1", "7"), {}), Catch::Contains("-1"));
  CHECK_THAT(refused(Input(v1::F32, "2", "1"), {}), Catch::Contains("above"));
  CHECK_THAT(refused(Input(v1::F32, "nan", "1"), {}), Catch::Contains("finite"));
  v1::Parameter normal = Input(v1::F32);
  normal.mutable_data()->set_distribution(v1::Data::NORMAL);
  CHECK_THAT(refused(normal, {}), Catch::Contains("standard_deviation"));
  // Indices into an array without elements: there is nothing to draw.
  CHECK(ResolveData(Input(v1::I32, "0", "n"), Sizes({{"n", 0}}), 0).ok());
}

TEST_CASE("large inputs are drawn fast", "[.][speed]") {
  for (const v1::ElementType type : {v1::F32, v1::F16, v1::I32, v1::U8}) {
    for (const bool normal : {false, true}) {
      v1::Parameter parameter = Input(type);
      if (normal) {
        parameter.mutable_data()->set_distribution(v1::Data::NORMAL);
        parameter.mutable_data()->set_standard_deviation(1);
      }
      constexpr size_t kCount = size_t{64} << 20;
      HostBuffer buffer(kCount * SizeOf(type));
      const auto data = ResolveData(parameter, {}, kCount);
      const std::clock_t start = std::clock();
      FillData(*data, 1, buffer.bytes());
      const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
      WARN(NameOf(type) << (normal ? " normal " : " uniform ") << seconds << " s");
    }
  }
}

}  // namespace
}  // namespace fsr
