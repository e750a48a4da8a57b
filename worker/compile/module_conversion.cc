#include "worker/compile/module_conversion.h"

namespace fsr {

v1::CompiledModule ToProto(const CompiledKernel& kernel) {
  v1::CompiledModule module;
  module.set_ptx(kernel.ptx);
  module.set_cubin(kernel.cubin);
  module.set_log(kernel.log);
  module.set_architecture(kernel.architecture);
  module.mutable_lowered_names()->insert(kernel.lowered_names.begin(), kernel.lowered_names.end());
  module.mutable_resources()->Add(kernel.resources.begin(), kernel.resources.end());
  return module;
}

CompiledKernel FromProto(const v1::CompiledModule& module) {
  return {.ptx = module.ptx(),
          .cubin = module.cubin(),
          .log = module.log(),
          .architecture = module.architecture(),
          .lowered_names = {module.lowered_names().begin(), module.lowered_names().end()},
          .resources = {module.resources().begin(), module.resources().end()}};
}

}  // namespace fsr
