#include <utility>

#include "absl/time/clock.h"
#include "common/hash.h"
#include "common/status_macros.h"
#include "fsr/v1/runner.pb.h"
#include "worker/compile/cache_folder.h"
#include "worker/compile/compiler.h"
#include "worker/compile/module_conversion.h"
#include "worker/compile/toolkit.h"

namespace fsr {
namespace {

// Rises when the same request would be compiled to something else: fixed options, or what is kept.
constexpr std::string_view kFormat = "1";

class CachingCompiler : public Compiler {
 public:
  CachingCompiler(std::unique_ptr<Compiler> inner, const std::string& folder, uint64_t bytes_max)
      : inner_(std::move(inner)), cache_(folder, bytes_max) {}

  absl::StatusOr<CompileResult> Compile(const CompileRequest& request) override {
    // Looked up every time: a worker may run on while another compiler is installed.
    ASSIGN_OR_RETURN(const Toolkit toolkit, FindToolkit());
    const absl::Time start = absl::Now();
    const std::string key = Key(request, toolkit.fingerprint);
    if (std::optional<std::string> value = cache_.Get(key)) {
      v1::CompiledModule module;
      if (module.ParseFromString(*value)) {
        CompileResult result = {.ok = true, .kernel = FromProto(module), .log = module.log()};
        result.kernel.cache_hit = true;
        result.seconds = absl::ToDoubleSeconds(absl::Now() - start);
        return result;
      }
    }
    ASSIGN_OR_RETURN(CompileResult result, inner_->Compile(request));
    // What failed is not kept: it is not asked for again, and a limit may be met another time.
    if (result.ok) cache_.Put(key, ToProto(result.kernel).SerializeAsString());
    return result;
  }

 private:
  static std::string Key(const CompileRequest& request, const std::string& compiler) {
    FieldHasher hasher;
    hasher.Add(kFormat).Add(compiler).Add(request.source).Add(request.file_name).Add(request.architecture);
    hasher.Add(request.want_cubin ? "cubin" : "ptx").Add(std::to_string(request.kernels.size()));
    for (const std::string& kernel : request.kernels) hasher.Add(kernel);
    for (const std::string& option : request.options) hasher.Add(option);
    return hasher.Hex();
  }

  const std::unique_ptr<Compiler> inner_;
  CacheFolder cache_;
};

}  // namespace

std::unique_ptr<Compiler> NewCachingCompiler(std::unique_ptr<Compiler> inner, std::string folder, uint64_t bytes_max) {
  return std::make_unique<CachingCompiler>(std::move(inner), folder, bytes_max);
}

}  // namespace fsr
