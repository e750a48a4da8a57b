#include "client/request_text.h"

#include <fmt/format.h>

#include <vector>

#include "common/quote.h"
#include "common/status_macros.h"

namespace fsr {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

absl::Status CheckField(const Message& message, const FieldDescriptor& field) {
  const google::protobuf::Reflection& reflection = *message.GetReflection();
  const int count = field.is_repeated() ? reflection.FieldSize(message, &field) : 1;
  for (int i = 0; i < count; ++i) {
    if (field.type() == FieldDescriptor::TYPE_MESSAGE) {
      RETURN_IF_ERROR(CheckText(field.is_repeated() ? reflection.GetRepeatedMessage(message, &field, i)
                                                    : reflection.GetMessage(message, &field)));
    } else if (field.type() == FieldDescriptor::TYPE_STRING) {
      const std::string text = field.is_repeated() ? reflection.GetRepeatedString(message, &field, i)
                                                   : reflection.GetString(message, &field);
      if (IsUtf8(text)) continue;
      return absl::InvalidArgumentError(
          fmt::format("The {} is not valid UTF-8: save or write it as UTF-8. It begins with {}.", field.name(),
                      Quoted(std::string_view(text).substr(0, 40))));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckText(const Message& request) {
  std::vector<const FieldDescriptor*> set;
  request.GetReflection()->ListFields(request, &set);
  for (const FieldDescriptor* field : set) RETURN_IF_ERROR(CheckField(request, *field));
  return absl::OkStatus();
}

}  // namespace fsr
