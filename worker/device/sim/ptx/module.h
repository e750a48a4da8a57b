// PTX as written, parsed into plain data: no meaning yet beyond the grammar of the PTX ISA.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace fsr::sim::ptx {

enum class StateSpace { kRegister, kGlobal, kShared, kLocal, kConst, kParam, kGeneric };

struct Operand {
  enum class Kind {
    kRegister,   // %r1, %p2, and special registers such as %tid.x, %laneid, %clock64: name. A register declared in an
                 //   inner { } has a name of its own, such as "p#3"; a selector stays behind ("%r1.h0")
    kImmediate,  // integer or float literal: bits, is_float
    kSymbol,     // a variable, function or label name, optionally + offset
    kAddress,    // [base + offset], base a register or symbol (is_symbol_base), or absolute (name empty). What follows
                 //   the base in the brackets, such as the coordinates of a tensor copy: elements
    kVector,     // {a, b, c, d}: elements
    kSink,       // _
  };
  Kind kind = Kind::kRegister;
  std::string name;
  int64_t offset = 0;
  bool is_symbol_base = false;
  bool negated = false;   // !%p1
  uint64_t bits = 0;      // kImmediate: integer value, or the bits of a double (float literals are kept as double
  bool is_float = false;  //   bits; 0f… literals are widened exactly)
  std::vector<Operand> elements;
  std::string second;  // setp's p|q, shfl's d|p: the second destination register, on the first operand; empty for _
};

struct Instruction {
  std::string opcode;                  // "ld"
  std::vector<std::string> modifiers;  // {"global", "nc", "v4", "f32"}; "::" parts stay joined ("shared::cta")
  std::string full;                    // "ld.global.nc.v4.f32"
  std::optional<Operand> guard;        // @%p1 or @!%p1
  std::vector<Operand> operands;       // destination first, as written; for call: see CallTarget
  // call only: (returns), function or the register of an indirect call, (arguments)
  std::string callee;
  std::vector<std::string> call_returns, call_arguments;
  uint32_t ptx_line = 0;
  uint32_t source_line = 0;  // by .loc, of the file that is source_file; 0 where unknown
  uint32_t source_file = 0;  // .file index; for inlined code the innermost position in the candidate's own file
};

// A variable: global, const, shared, local, a function's parameter, or a .param declared in a body.
struct Variable {
  StateSpace space = StateSpace::kGlobal;
  std::string name;
  std::string type;  // "b8", "f32", "u64" …
  uint32_t element_bytes = 1;
  uint32_t vector_width = 1;   // .v2, .v4
  uint64_t element_count = 1;  // product of the dimensions; 0 for `extern .shared x[]`
  uint32_t alignment = 1;
  std::vector<uint8_t> initial;  // little-endian, from the start; zeros up to bytes() (all zeros if empty)
  // Addresses of other symbols, 8 bytes each, within the initial value: byte offset -> symbol (+ addend).
  struct Relocation {
    uint64_t offset;
    std::string symbol;
    int64_t addend;
    bool generic;
  };
  std::vector<Relocation> relocations;
  bool is_extern = false;
  uint64_t bytes() const { return uint64_t{element_bytes} * vector_width * element_count; }
};

struct RegisterDeclaration {
  std::string type;
};  // "pred", "b16", "b32", "f32", "b64", "f64", "b128"

struct Function {
  std::string name;
  bool is_entry = false;
  std::vector<Variable> parameters, returns;
  std::map<std::string, RegisterDeclaration> registers;  // every register by name, `%r<5>` expanded
  std::vector<Variable> variables;                       // .shared/.local/.param declared in the body
  std::vector<Instruction> instructions;
  std::map<std::string, uint32_t> labels;                          // -> index of the next instruction
  std::map<std::string, std::vector<std::string>> branch_targets;  // .branchtargets tables for brx.idx
  uint32_t max_threads = 0;                                        // .maxntid product; 0: none
  std::vector<uint32_t> required_cluster;                          // .reqnctapercluster
};

struct Module {
  std::string version, target;
  std::map<uint32_t, std::string> files;
  std::vector<Variable> variables;  // module scope
  std::vector<Function> functions;  // with a body; prototypes are dropped
};

}  // namespace fsr::sim::ptx
