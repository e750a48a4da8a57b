#include "client/request_text.h"

#include <catch2/catch.hpp>

#include "common/status.h"
#include "fsr/v1/search.pb.h"

namespace fsr {

TEST_CASE("text that is not UTF-8 is named wherever it stands in a request") {
  v1::CreateJobRequest request;
  request.set_request_id("größe 日本");
  (*request.mutable_prompt_templates())["task.mustache"] = "fine";
  CHECK(CheckText(request).ok());

  const std::string latin1 =
      "gr\xf6\xdf"
      "e";
  const auto said = [](const google::protobuf::Message& broken) {
    const absl::Status status = CheckText(broken);
    CHECK(absl::IsInvalidArgument(status));
    return MessageOf(status);
  };
  v1::CreateJobRequest top = request, nested = request, repeated = request, in_map = request, key = request;
  top.set_request_id(latin1);
  CHECK_THAT(said(top), Catch::Contains("request_id") && Catch::Contains("gr\\xf6\\xdfe"));
  nested.mutable_task()->set_oracle_source(latin1);
  CHECK_THAT(said(nested), Catch::Contains("oracle_source"));
  repeated.mutable_task()->add_tags("fine");
  repeated.mutable_task()->add_tags(latin1);
  CHECK_THAT(said(repeated), Catch::Contains("tags"));
  (*in_map.mutable_generator()->mutable_options())["recording"] = latin1;
  CHECK_THAT(said(in_map), Catch::Contains("UTF-8"));
  (*key.mutable_prompt_templates())[latin1] = "fine";
  CHECK_THAT(said(key), Catch::Contains("UTF-8"));
}

}  // namespace fsr
