#include "common/yaml_to_proto.h"

#include <yaml-cpp/depthguard.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>
#include <vector>

#include "absl/strings/ascii.h"
#include "common/complaints.h"
#include "common/near_miss.h"
#include "common/quote.h"
#include "fmt/format.h"
#include "fmt/ranges.h"

namespace fsr {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::EnumDescriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

// A scalar without quotes or tag: only such a one can be a number or a truth value.
bool IsPlain(const YAML::Node& node) { return node.IsScalar() && (node.Tag() == "?" || node.Tag().empty()); }

template <typename Number>
std::optional<Number> ParseNumber(std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// YAML writes infinity and NaN with a dot.
std::optional<double> ParseDouble(std::string text) {
  if (const size_t dot = text.find(".inf"); dot == 0 || (dot == 1 && text[0] == '-')) text.erase(dot, 1);
  if (text == ".nan") text.erase(0, 1);
  return ParseNumber<double>(text);
}

std::vector<std::string> FieldNames(const Descriptor& descriptor) {
  std::vector<std::string> names;
  for (int i = 0; i < descriptor.field_count(); ++i) names.push_back(descriptor.field(i)->name());
  return names;
}

// The values that can be written, in lower case; number 0 is "not said".
std::vector<std::string> ValueNames(const EnumDescriptor& descriptor) {
  std::vector<std::string> names;
  for (int i = 0; i < descriptor.value_count(); ++i) {
    if (descriptor.value(i)->number() != 0) names.push_back(absl::AsciiStrToLower(descriptor.value(i)->name()));
  }
  return names;
}

// Fills a message and collects complaints.
class Reader {
 public:
  Reader(std::string_view document, const std::map<std::string, std::string>& elsewhere)
      : document_(document), elsewhere_(elsewhere) {}

  absl::Status Read(const YAML::Node& root, Message* message) {
    ReadMessage(root, "", message);
    return complaints_.ToStatus();
  }

 private:
  void Complain(const YAML::Node& node, std::string_view path, std::string_view problem) {
    const std::string field = path.empty() ? "" : fmt::format("{}: ", path);
    complaints_.Add(fmt::format("{}:{}: {}{}", document_, node.Mark().line + 1, field, problem));
  }

  // False, with one complaint, once there are too many nodes: a short text of aliases can stand for billions.
  bool Count(const YAML::Node& node) {
    if (++nodes_ == kYamlNodesMax + 1) {
      Complain(node, "", fmt::format("there are more than {} values in this file", kYamlNodesMax));
    }
    return nodes_ <= kYamlNodesMax;
  }

  // Calls `visit(key, key_node, value_node)` for the entries, once for each key.
  void ForEachEntry(const YAML::Node& node, const std::string& path, const auto& visit) {
    std::set<std::string> seen;
    for (const auto& entry : node) {
      if (!Count(entry.first)) return;
      if (!entry.first.IsScalar()) {
        Complain(entry.first, path, "a name is needed before the colon");
        continue;
      }
      const std::string key = entry.first.Scalar();
      if (seen.insert(key).second) {
        visit(key, entry.first, entry.second);
      } else {
        Complain(entry.first, Joined(path, key), "is given twice");
      }
    }
  }

  static std::string Joined(const std::string& path, std::string_view name) {
    const std::string shown = Quoted(name);
    const std::string_view plain = std::string_view(shown).substr(1, shown.size() - 2);
    return path.empty() ? std::string(plain) : fmt::format("{}.{}", path, plain);
  }

  void ReadMessage(const YAML::Node& node, const std::string& path, Message* message) {
    if (!node.IsMap()) {
      return Complain(
          node, path,
          fmt::format("fields are needed here, such as \"{}: ...\"", message->GetDescriptor()->field(0)->name()));
    }
    ForEachEntry(node, path, [&](const std::string& key, const YAML::Node& key_node, const YAML::Node& value) {
      const FieldDescriptor* field = message->GetDescriptor()->FindFieldByName(key);
      const std::string field_path = Joined(path, key);
      if (field == nullptr) {
        return Complain(key_node, field_path,
                        "there is no such field" + DidYouMean(key, FieldNames(*message->GetDescriptor())));
      }
      if (const auto reason = elsewhere_.find(key); path.empty() && reason != elsewhere_.end()) {
        return Complain(key_node, field_path, reason->second);
      }
      ReadField(value, field_path, *field, message);
    });
  }

  void ReadField(const YAML::Node& node, const std::string& path, const FieldDescriptor& field, Message* message) {
    if (node.IsNull()) return Complain(node, path, "has no value");
    if (field.is_map()) return ReadMap(node, path, field, message);
    if (!field.is_repeated()) return ReadValue(node, path, field, message);
    if (!node.IsSequence()) return Complain(node, path, "a list is needed here, such as [a, b]");
    int index = 0;
    for (const YAML::Node& element : node) {
      if (nodes_ > kYamlNodesMax) return;
      ReadValue(element, fmt::format("{}[{}]", path, index++), field, message);
    }
  }

  void ReadMap(const YAML::Node& node, const std::string& path, const FieldDescriptor& field, Message* message) {
    if (!node.IsMap()) return Complain(node, path, "names and values are needed here, such as {name: value}");
    ForEachEntry(node, path, [&](const std::string& key, const YAML::Node&, const YAML::Node& value) {
      Message* entry = message->GetReflection()->AddMessage(message, &field);
      entry->GetReflection()->SetString(entry, field.message_type()->map_key(), key);
      ReadField(value, Joined(path, key), *field.message_type()->map_value(), entry);
    });
  }

  // One value: sets a singular field, appends to a repeated one.
  void ReadValue(const YAML::Node& node, const std::string& path, const FieldDescriptor& field, Message* message) {
    if (!Count(node)) return;
    const Reflection& reflection = *message->GetReflection();
    const bool repeated = field.is_repeated();
    if (field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      return ReadMessage(
          node, path, repeated ? reflection.AddMessage(message, &field) : reflection.MutableMessage(message, &field));
    }
    if (!node.IsScalar()) return Complain(node, path, "a single value is needed here");
    const std::string& text = node.Scalar();
    const auto wrong_type = [&](std::string_view needed) {
      Complain(node, path,
               fmt::format("{} is needed here, not {}{}", needed, Quoted(text),
                           IsPlain(node) ? "" : " in quotes or with a tag"));
    };
    switch (field.cpp_type()) {
      case FieldDescriptor::CPPTYPE_STRING:
        return repeated ? reflection.AddString(message, &field, text) : reflection.SetString(message, &field, text);
      case FieldDescriptor::CPPTYPE_ENUM:
        return ReadEnum(node, path, field, message);
      case FieldDescriptor::CPPTYPE_INT64: {
        const auto number = ParseNumber<int64_t>(text);
        if (!number || !IsPlain(node)) return wrong_type("a whole number of at most 64 bits");
        return repeated ? reflection.AddInt64(message, &field, *number) : reflection.SetInt64(message, &field, *number);
      }
      case FieldDescriptor::CPPTYPE_DOUBLE: {
        const auto number = ParseDouble(text);
        if (!number || !IsPlain(node)) return wrong_type("a number");
        return repeated ? reflection.AddDouble(message, &field, *number)
                        : reflection.SetDouble(message, &field, *number);
      }
      case FieldDescriptor::CPPTYPE_BOOL:
        if ((text != "true" && text != "false") || !IsPlain(node)) return wrong_type("true or false");
        return repeated ? reflection.AddBool(message, &field, text == "true")
                        : reflection.SetBool(message, &field, text == "true");
      default:
        return Complain(node, path, fmt::format("fields of type {} cannot be read from YAML", field.type_name()));
    }
  }

  void ReadEnum(const YAML::Node& node, const std::string& path, const FieldDescriptor& field, Message* message) {
    const EnumDescriptor& type = *field.enum_type();
    for (int i = 0; i < type.value_count(); ++i) {
      const int number = type.value(i)->number();
      if (number == 0 || absl::AsciiStrToLower(type.value(i)->name()) != node.Scalar()) continue;
      const Reflection& reflection = *message->GetReflection();
      return field.is_repeated() ? reflection.AddEnumValue(message, &field, number)
                                 : reflection.SetEnumValue(message, &field, number);
    }
    const std::vector<std::string> known = ValueNames(type);
    Complain(node, path,
             fmt::format("{} is not one of {}{}", Quoted(node.Scalar()), fmt::join(known, ", "),
                         DidYouMean(node.Scalar(), known)));
  }

  const std::string_view document_;
  const std::map<std::string, std::string>& elsewhere_;
  Complaints complaints_;
  int nodes_ = 0;
};

// The line of a "---" after something else than comments, or 0. YAML::Load reads the first document only, and
// YAML::LoadAll does not end for some malformed texts.
int SecondDocumentLine(std::string_view yaml) {
  bool content = false;
  for (int line = 1; !yaml.empty(); ++line) {
    const std::string_view text = yaml.substr(0, yaml.find('\n'));
    const bool marker =
        text.substr(0, 3) == "---" && (text.size() == 3 || absl::ascii_isspace(static_cast<unsigned char>(text[3])));
    if (marker && content) return line;
    const size_t first = text.find_first_not_of(" \t\r");
    content = content || marker || (first != std::string_view::npos && text[first] != '#' && text[0] != '%');
    yaml.remove_prefix(std::min(yaml.size(), text.size() + 1));
  }
  return 0;
}

}  // namespace

absl::Status YamlToMessage(std::string_view yaml, std::string_view document,
                           const std::map<std::string, std::string>& elsewhere, Message* message) {
  if (!IsUtf8(yaml)) return absl::InvalidArgumentError(fmt::format("{}: the text is not valid UTF-8", document));
  try {
    const YAML::Node root = YAML::Load(std::string(yaml));
    if (root.IsNull()) return absl::InvalidArgumentError(fmt::format("{}: it is empty", document));
    if (const int line = SecondDocumentLine(yaml); line > 0) {
      return absl::InvalidArgumentError(
          fmt::format("{}:{}: a second document begins here; there must be only one", document, line));
    }
    return Reader(document, elsewhere).Read(root, message);
  } catch (const YAML::DeepRecursion& error) {
    return absl::InvalidArgumentError(fmt::format("{}:{}: nested too deep", document, error.mark.line + 1));
  } catch (const YAML::Exception& error) {
    const std::string problem = IsUtf8(error.msg) ? error.msg : Quoted(error.msg);
    return absl::InvalidArgumentError(fmt::format("{}:{}: {}", document, error.mark.line + 1, problem));
  }
}

}  // namespace fsr
