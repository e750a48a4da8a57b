#include "server/answers/code_shape.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include "common/source_scan.h"

namespace fsr {
namespace {

using Kind = SourceToken::Kind;

template <size_t kCount>
bool IsOneOf(std::string_view word, const std::array<std::string_view, kCount>& words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// Written like a call between __global__ and the kernel's name, or behind its parameters.
bool IsAttribute(std::string_view word) {
  static constexpr std::array<std::string_view, 8> kAttributes = {
      "__launch_bounds__", "__cluster_dims__", "__block_size__", "__maxnreg__",
      "__attribute__",     "alignas",          "decltype",       "noexcept"};
  return IsOneOf(word, kAttributes);
}

bool IsHostCall(std::string_view word) {
  static constexpr std::array<std::string_view, 14> kCalls = {
      "cudaMalloc",      "cudaMallocManaged", "cudaMallocAsync",  "cudaMemcpy",       "cudaMemcpyAsync",
      "cudaMemset",      "cudaFree",          "cudaLaunchKernel", "cudaStreamCreate", "cudaDeviceSynchronize",
      "PYBIND11_MODULE", "TORCH_LIBRARY",     "cudaGetLastError", "cudaEventRecord"};
  return IsOneOf(word, kCalls);
}

// Follows the tokens behind each __global__ to the name before its parameters, and on to the body.
class KernelFinder {
 public:
  KernelFinder() = default;

  void Feed(const SourceToken& token) {
    const char mark = token.kind == Kind::kPunctuation ? token.text[0] : '\0';
    if (token.text == "__global__") {
      *this = KernelFinder(State::kHeader);
      return;
    }
    if (state_ == State::kNone) return;
    if (depth_ > 0) {
      depth_ += mark == '(' ? 1 : mark == ')' ? -1 : 0;
    } else if (mark == '(') {
      depth_ = 1;
      if (state_ == State::kHeader && !IsAttribute(word_)) state_ = State::kNamed;
    } else if (mark == '{' && state_ == State::kNamed) {
      state_ = State::kDefined;
    } else if (mark == '{' || mark == ';' || mark == '}') {
      state_ = State::kNone;
    } else if (state_ == State::kHeader) {
      angle_ += mark == '<' ? 1 : mark == '>' ? -1 : 0;
      if (token.kind == Kind::kWord && angle_ == 0) word_ = token.text;
    }
  }

  // The name of the kernel whose body has just begun; empty: none has.
  std::string_view TakeDefined() {
    if (state_ != State::kDefined) return {};
    state_ = State::kNone;
    return word_;
  }

 private:
  enum class State { kNone, kHeader, kNamed, kDefined };
  explicit KernelFinder(State state) : state_(state) {}

  State state_ = State::kNone;
  int depth_ = 0, angle_ = 0;
  std::string_view word_;
};

// Sees tokens without space and comments.
class HostFinder {
 public:
  void Feed(const SourceToken& token) {
    if (!found_.empty()) return;
    if (token.text == "(") {
      if (last_ == "main" && (before_ == "int" || before_ == "void" || before_ == "auto")) found_ = "main()";
      if (IsHostCall(last_)) found_ = std::string(last_) + "()";
    }
    const bool adjacent = token.offset == end_;
    angles_ = token.text == "<" ? (adjacent && last_ == "<" ? angles_ + 1 : 1) : 0;
    if (angles_ == 3) found_ = "a launch with <<<...>>>";
    before_ = last_;
    last_ = token.text;
    end_ = token.offset + token.text.size();
  }
  const std::string& found() const { return found_; }

 private:
  std::string found_;
  std::string_view last_, before_;
  size_t end_ = 0;
  int angles_ = 0;
};

class BalanceCheck {
 public:
  void Feed(const SourceToken& token) {
    if (token.kind == Kind::kBlockComment) {
      const bool ends = token.text.size() >= 4 && token.text.substr(token.text.size() - 2) == "*/";
      closed_ = closed_ && ends;
    }
    if (token.kind != Kind::kPunctuation) return;
    const char mark = token.text[0];
    braces_ += mark == '{' ? 1 : mark == '}' ? -1 : 0;
    parentheses_ += mark == '(' ? 1 : mark == ')' ? -1 : 0;
  }
  bool balanced() const { return closed_ && braces_ == 0 && parentheses_ == 0; }

 private:
  bool closed_ = true;
  int64_t braces_ = 0, parentheses_ = 0;
};

void AddLaunches(std::string_view source, CodeShape* shape) {
  const auto directives = FindDirectives(source);
  if (!directives.ok()) {
    shape->has_launch_line = true;
    return;
  }
  for (const Directive& directive : *directives) {
    const size_t word_end = directive.text.find_first_of(" \t");
    if (directive.text.substr(0, word_end) != "launch") continue;
    shape->has_launch_line = true;
    if (word_end == std::string_view::npos) continue;
    std::string_view name = directive.text.substr(word_end);
    name.remove_prefix(std::min(name.find_first_not_of(" \t"), name.size()));
    name = name.substr(0, name.find_first_of(" \t<"));
    if (const size_t scope = name.rfind("::"); scope != std::string_view::npos) name.remove_prefix(scope + 2);
    if (!name.empty()) shape->launched.emplace_back(name);
  }
}

}  // namespace

CodeShape ShapeOf(std::string_view source) {
  CodeShape shape;
  KernelFinder kernels;
  HostFinder host;
  BalanceCheck balance;
  SourceScanner scanner(source);
  for (SourceToken token; scanner.Next(&token);) {
    balance.Feed(token);
    if (token.kind == Kind::kSpace || token.kind == Kind::kNewline || token.kind == Kind::kLineComment ||
        token.kind == Kind::kBlockComment) {
      continue;
    }
    shape.has_kernel = shape.has_kernel || token.text == "__global__";
    host.Feed(token);
    kernels.Feed(token);
    if (const std::string_view name = kernels.TakeDefined(); !name.empty()) shape.defined.emplace_back(name);
  }
  shape.host_code = host.found();
  shape.is_balanced = balance.balanced();
  AddLaunches(source, &shape);
  return shape;
}

std::vector<std::string> LaunchedKernels(std::string_view source) {
  CodeShape shape;
  AddLaunches(source, &shape);
  return shape.launched;
}

}  // namespace fsr
