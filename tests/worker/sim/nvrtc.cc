#include "tests/worker/sim/nvrtc.h"

#include <dlfcn.h>

#include <cstddef>
#include <string>

namespace fsr::sim {
namespace {

using Program = void*;

// The few functions of nvrtc.h that are needed, looked up at run time. 0 is success everywhere.
class Library {
 public:
  Library() {
    for (const char* folder : {FSR_CUDA_ROOT "/lib64/", FSR_CUDA_ROOT "/lib/", ""}) {
      if (handle_ == nullptr) handle_ = dlopen((std::string(folder) + "libnvrtc.so.13").c_str(), RTLD_NOW);
    }
  }
  bool found() const { return handle_ != nullptr; }
  template <typename Function>
  Function Find(const char* name) const {
    return reinterpret_cast<Function>(dlsym(handle_, name));
  }

 private:
  void* handle_ = nullptr;
};

const Library& Nvrtc() {
  static const Library library;
  return library;
}

std::string Text(Program program, const char* size_function, const char* text_function) {
  size_t size = 0;
  Nvrtc().Find<int (*)(Program, size_t*)>(size_function)(program, &size);
  std::string text(size, '\0');
  Nvrtc().Find<int (*)(Program, char*)>(text_function)(program, text.data());
  while (!text.empty() && text.back() == '\0') text.pop_back();
  return text;
}

}  // namespace

NvrtcResult CompileWithNvrtc(const std::string& source, const std::string& architecture,
                             const std::vector<std::string>& options) {
  if (!Nvrtc().found()) return {false, "", "libnvrtc.so.13 was not found"};
  Program program = nullptr;
  Nvrtc().Find<int (*)(Program*, const char*, const char*, int, const char* const*, const char* const*)>(
      "nvrtcCreateProgram")(&program, source.c_str(), "candidate.cu", 0, nullptr, nullptr);
  std::vector<std::string> all = {
      "--gpu-architecture=" + architecture, "-lineinfo", "-std=c++17", "-default-device", "-I" FSR_CUDA_ROOT "/include",
      "-I" FSR_CUDA_ROOT "/include/cccl"};
  all.insert(all.end(), options.begin(), options.end());
  std::vector<const char*> arguments;
  for (const std::string& option : all) arguments.push_back(option.c_str());
  const int error = Nvrtc().Find<int (*)(Program, int, const char* const*)>("nvrtcCompileProgram")(
      program, static_cast<int>(arguments.size()), arguments.data());
  NvrtcResult result;
  result.ok = error == 0;
  result.log = Text(program, "nvrtcGetProgramLogSize", "nvrtcGetProgramLog");
  if (result.ok) result.ptx = Text(program, "nvrtcGetPTXSize", "nvrtcGetPTX");
  Nvrtc().Find<int (*)(Program*)>("nvrtcDestroyProgram")(&program);
  return result;
}

}  // namespace fsr::sim
