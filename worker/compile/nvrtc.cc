#include "worker/compile/nvrtc.h"

#include <dlfcn.h>
#include <nvrtc.h>

#include <algorithm>
#include <charconv>
#include <set>
#include <vector>

#include "common/status.h"
#include "common/status_macros.h"
#include "common/utf8.h"
#include "fmt/format.h"
#include "fmt/ranges.h"
#include "worker/compile/compiler.h"
#include "worker/compile/compiler_log.h"
#include "worker/compile/source_scan.h"

namespace fsr {

struct Nvrtc::Api {
  void* library = nullptr;
  decltype(&nvrtcVersion) version = nullptr;
  decltype(&nvrtcGetNumSupportedArchs) architecture_count = nullptr;
  decltype(&nvrtcGetSupportedArchs) architectures = nullptr;
  decltype(&nvrtcCreateProgram) create = nullptr;
  decltype(&nvrtcDestroyProgram) destroy = nullptr;
  decltype(&nvrtcAddNameExpression) add_name = nullptr;
  decltype(&nvrtcCompileProgram) compile = nullptr;
  decltype(&nvrtcGetLoweredName) lowered_name = nullptr;
  decltype(&nvrtcGetProgramLogSize) log_size = nullptr;
  decltype(&nvrtcGetProgramLog) log = nullptr;
  decltype(&nvrtcGetPTXSize) ptx_size = nullptr;
  decltype(&nvrtcGetPTX) ptx = nullptr;
  decltype(&nvrtcGetCUBINSize) cubin_size = nullptr;
  decltype(&nvrtcGetCUBIN) cubin = nullptr;
  decltype(&nvrtcGetErrorString) error_string = nullptr;

  ~Api() {
    if (library != nullptr) dlclose(library);
  }
  template <typename Function>
  absl::Status Load(const char* name, Function* function) {
    *function = reinterpret_cast<Function>(dlsym(library, name));
    return *function != nullptr ? absl::OkStatus() : absl::UnavailableError(fmt::format("NVRTC has no {}().", name));
  }
  absl::Status LoadAll() {
    RETURN_IF_ERROR(Load("nvrtcVersion", &version));
    RETURN_IF_ERROR(Load("nvrtcGetNumSupportedArchs", &architecture_count));
    RETURN_IF_ERROR(Load("nvrtcGetSupportedArchs", &architectures));
    RETURN_IF_ERROR(Load("nvrtcCreateProgram", &create));
    RETURN_IF_ERROR(Load("nvrtcDestroyProgram", &destroy));
    RETURN_IF_ERROR(Load("nvrtcAddNameExpression", &add_name));
    RETURN_IF_ERROR(Load("nvrtcCompileProgram", &compile));
    RETURN_IF_ERROR(Load("nvrtcGetLoweredName", &lowered_name));
    RETURN_IF_ERROR(Load("nvrtcGetProgramLogSize", &log_size));
    RETURN_IF_ERROR(Load("nvrtcGetProgramLog", &log));
    RETURN_IF_ERROR(Load("nvrtcGetPTXSize", &ptx_size));
    RETURN_IF_ERROR(Load("nvrtcGetPTX", &ptx));
    RETURN_IF_ERROR(Load("nvrtcGetCUBINSize", &cubin_size));
    RETURN_IF_ERROR(Load("nvrtcGetCUBIN", &cubin));
    return Load("nvrtcGetErrorString", &error_string);
  }
};

// One nvrtcProgram.
class Nvrtc::Program {
 public:
  Program(const Api& api, const v1::CompileJob& job) : api_(api) {
    result_ = api_.create(&program_, job.source().c_str(), job.file_name().c_str(), 0, nullptr, nullptr);
    for (const std::string& kernel : job.kernels()) {
      if (result_ == NVRTC_SUCCESS) result_ = api_.add_name(program_, kernel.c_str());
    }
  }
  ~Program() {
    if (program_ != nullptr) api_.destroy(&program_);
  }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  nvrtcResult Compile(const std::vector<std::string>& options) {
    std::vector<const char*> pointers;
    for (const std::string& option : options) pointers.push_back(option.c_str());
    if (result_ == NVRTC_SUCCESS) {
      result_ = api_.compile(program_, static_cast<int>(pointers.size()), pointers.data());
    }
    return result_;
  }
  // What a source has the compiler say need not be text.
  std::string Log() const { return ToUtf8(TextOf(api_.log_size, api_.log)); }
  std::string Ptx() const { return TextOf(api_.ptx_size, api_.ptx); }
  std::string Cubin() const {
    size_t size = 0;
    if (api_.cubin_size(program_, &size) != NVRTC_SUCCESS) return "";
    std::string bytes(size, '\0');
    return api_.cubin(program_, bytes.data()) == NVRTC_SUCCESS ? bytes : "";
  }
  std::string LoweredName(const std::string& kernel) const {
    const char* name = nullptr;
    return api_.lowered_name(program_, kernel.c_str(), &name) == NVRTC_SUCCESS ? name : "";
  }

 private:
  // The sizes count a final NUL.
  template <typename Size, typename Get>
  std::string TextOf(Size size_of, Get get) const {
    size_t size = 0;
    if (program_ == nullptr || size_of(program_, &size) != NVRTC_SUCCESS || size == 0) return "";
    std::string text(size, '\0');
    if (get(program_, text.data()) != NVRTC_SUCCESS) return "";
    text.resize(text.find('\0') == std::string::npos ? size : text.find('\0'));
    return text;
  }

  const Api& api_;
  nvrtcProgram program_ = nullptr;
  nvrtcResult result_ = NVRTC_SUCCESS;
};

namespace {

// The first version with a cache of its own, which would hide what a compile costs and who pays for it.
constexpr int kFirstMajorWithCache = 13;

constexpr char kVerboseOption[] = "--ptxas-options=-v";

// 90 of "sm_90a"; 0 if it is no architecture.
int ArchitectureNumber(std::string_view architecture) {
  if (!architecture.starts_with("sm_")) return 0;
  int number = 0;
  std::from_chars(architecture.data() + 3, architecture.data() + architecture.size(), number);
  return number;
}

bool IsEntry(const std::string& ptx, const std::string& name) {
  for (std::string_view end : {"(", "\n", " "}) {
    if (ptx.find(fmt::format(".entry {}{}", name, end)) != std::string::npos) return true;
  }
  return false;
}

std::string ExistingKernels(const std::string& source) {
  const std::vector<std::string> names = KernelNames(source);
  if (names.empty()) return "The file defines no __global__ function.";
  return fmt::format("The kernels of the file are: {}.", fmt::join(names, ", "));
}

}  // namespace

Nvrtc::Nvrtc(std::unique_ptr<Api> api, Toolkit toolkit) : api_(std::move(api)), toolkit_(std::move(toolkit)) {
  int minor = 0;
  api_->version(&major_, &minor);
  version_ = fmt::format("{}.{}", major_, minor);
}

Nvrtc::~Nvrtc() = default;

absl::StatusOr<std::unique_ptr<Nvrtc>> Nvrtc::Open(const Toolkit& toolkit) {
  auto api = std::make_unique<Api>();
  api->library = dlopen(toolkit.nvrtc_path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (api->library == nullptr) {
    return absl::UnavailableError(
        fmt::format("NVRTC cannot be opened: {}. Reinstall the CUDA Toolkit or set CUDA_HOME.", dlerror()));
  }
  RETURN_IF_ERROR(WithContext(toolkit.nvrtc_path, api->LoadAll()));
  return std::unique_ptr<Nvrtc>(new Nvrtc(std::move(api), toolkit));
}

std::string Nvrtc::Target(const std::string& architecture, bool want_cubin) const {
  const int wanted = ArchitectureNumber(architecture);
  int count = 0;
  api_->architecture_count(&count);
  std::vector<int> known(static_cast<size_t>(count));
  api_->architectures(known.data());
  if (std::count(known.begin(), known.end(), wanted) > 0) {
    return want_cubin ? architecture : "compute_" + architecture.substr(3);
  }
  int nearest = known.empty() ? wanted : *std::min_element(known.begin(), known.end());
  for (int number : known) {
    if (number <= wanted) nearest = std::max(nearest, number);
  }
  return fmt::format("compute_{}", nearest);
}

v1::CompileReply Nvrtc::Compile(const v1::CompileJob& job) {
  v1::CompileReply reply;
  if (ArchitectureNumber(job.architecture()) == 0) {
    reply.set_infrastructure_error(fmt::format("\"{}\" is no architecture such as sm_90a.", job.architecture()));
  } else if (absl::Status status = CheckIncludes(job.source()); !status.ok()) {
    reply.set_log(MessageOf(status));
  } else {
    reply = CompileChecked(job);
  }
  return reply;
}

v1::CompileReply Nvrtc::CompileChecked(const v1::CompileJob& job) {
  const std::string target = Target(job.architecture(), job.want_cubin());
  std::vector<std::string> options = {"--gpu-architecture=" + target, "-lineinfo", "-default-device", "--std=c++20"};
  const bool machine_code = target.starts_with("sm_");
  if (machine_code) options.push_back(kVerboseOption);
  if (major_ >= kFirstMajorWithCache) options.push_back("--no-cache");
  for (const std::string& folder : toolkit_.include_folders) options.push_back("-I" + folder);
  options.insert(options.end(), job.options().begin(), job.options().end());

  Program program(*api_, job);
  const nvrtcResult result = program.Compile(options);
  v1::CompileReply reply;
  if (result != NVRTC_SUCCESS) {
    DescribeFailure(result, job, FailureLog(job, options, program.Log()), &reply);
    return reply;
  }
  CompilerLog log = ReadCompilerLog(program.Log());
  if (job.want_cubin() && !machine_code) {
    log.text += fmt::format("NVRTC {} makes no machine code for {}: this is PTX for {}, which the driver translates.\n",
                            version_, job.architecture(), target);
  }
  v1::CompiledModule& module = *reply.mutable_module();
  module.set_log(CutMiddle(log.text, kCompileLogBytesMax));
  module.set_ptx(program.Ptx());
  if (machine_code) module.set_cubin(program.Cubin());
  module.set_architecture(job.architecture());
  for (const std::string& kernel : job.kernels()) {
    const std::string lowered = program.LoweredName(kernel);
    if (!IsEntry(module.ptx(), lowered)) {
      v1::CompileReply refused;
      refused.set_launch_error(
          fmt::format("{} is launched, but it is no __global__ function. {}", kernel, ExistingKernels(job.source())));
      return refused;
    }
    (*module.mutable_lowered_names())[kernel] = lowered;
    for (v1::Resources& resources : log.resources) {
      if (resources.kernel() != lowered) continue;
      *module.add_resources() = resources;
      module.mutable_resources()->rbegin()->set_kernel(kernel);
    }
  }
  reply.set_log(module.log());
  reply.set_ok(true);
  return reply;
}

std::string Nvrtc::FailureLog(const v1::CompileJob& job, std::vector<std::string> options, std::string log) const {
  if (log.find("error") != std::string::npos || std::erase(options, kVerboseOption) == 0) return log;
  Program terse(*api_, job);
  terse.Compile(options);
  return terse.Log();
}

void Nvrtc::DescribeFailure(int result, const v1::CompileJob& job, const std::string& raw_log,
                            v1::CompileReply* reply) const {
  CompilerLog log = ReadCompilerLog(raw_log);
  const char* name = api_->error_string(static_cast<nvrtcResult>(result));
  if (result == NVRTC_ERROR_BUILTIN_OPERATION_FAILURE) {
    reply->set_infrastructure_error(fmt::format("NVRTC {} is incomplete: its builtins library is missing beside {}.",
                                                version_, toolkit_.nvrtc_path));
  } else if (result == NVRTC_ERROR_OUT_OF_MEMORY) {
    reply->set_limit_exceeded(true);
    reply->set_log("The compiler ran out of memory: the source expands to too much code.");
  } else if (!log.name_errors.empty() && !log.has_other_errors) {
    reply->set_launch_error(fmt::format("A launched name is no kernel of the file: {}. {}",
                                        fmt::join(log.name_errors, "; "), ExistingKernels(job.source())));
  } else {
    std::string text = log.text.empty() ? fmt::format("The compiler failed: {}.\n", name) : log.text;
    if (text.find("cannot open source file") != std::string::npos) {
      text += "Only the CUDA Toolkit's own headers can be included; C++ standard headers are there as <cuda/std/…>.\n";
    }
    reply->set_log(CutMiddle(text, kCompileLogBytesMax));
  }
}

}  // namespace fsr
