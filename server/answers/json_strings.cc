#include "server/answers/json_strings.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "common/utf8.h"
#include "server/answers/limits.h"
#include "server/answers/plain_text.h"

namespace fsr {
namespace {

using Json = nlohmann::json;

// Keeps strings; builds no tree, so that depth costs nothing.
class StringCollector : public nlohmann::json_sax<Json> {
 public:
  explicit StringCollector(std::vector<std::string>* strings) : strings_(*strings) {}

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t& value) override {
    strings_.push_back(std::move(value));
    return true;
  }
  bool binary(binary_t&) override { return true; }
  bool start_object(std::size_t) override { return true; }
  bool key(string_t&) override { return true; }
  bool end_object() override { return true; }
  bool start_array(std::size_t) override { return true; }
  bool end_array() override { return true; }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) override { return false; }

 private:
  std::vector<std::string>& strings_;
};

void Collect(std::string_view text, int depth, std::vector<std::string>* strings) {
  const std::string_view trimmed = TrimBlank(text);
  if (trimmed.empty() || (trimmed[0] != '{' && trimmed[0] != '[')) return;
  std::vector<std::string> found;
  StringCollector collector(&found);
  Json::sax_parse(trimmed, &collector, Json::input_format_t::json, /*strict=*/false);
  for (std::string& value : found) {
    const size_t before = strings->size();
    if (depth < kJsonDepthMax) Collect(value, depth + 1, strings);
    if (strings->size() == before) strings->push_back(PlainText(ToUtf8(value)));
  }
}

}  // namespace

std::vector<std::string> JsonStrings(std::string_view text) {
  std::vector<std::string> strings;
  Collect(text, 1, &strings);
  return strings;
}

}  // namespace fsr
