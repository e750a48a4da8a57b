// A kernel in executable form: decoded once, then run by every warp. Operands are register slots or constants, branch
// targets are step numbers, and what an instruction needs beyond that stands in a table of its kind.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "worker/device/sim/alu.h"
#include "worker/device/sim/atomics.h"
#include "worker/device/sim/events.h"
#include "worker/device/sim/lanes.h"
#include "worker/device/sim/special_registers.h"

namespace fsr::sim {

// Where the Lanes of an operand stand: in a register of the frame, among the program's constants, or among the special
// registers of the warp.
struct ValueRef {
  enum Base : uint8_t { kRegister, kConstant, kSpecial, kNone };
  Base base = kNone;
  uint32_t index = 0;
  bool exists() const { return base != kNone; }
};

// Predicates of a frame; the first two are always there.
inline constexpr uint16_t kSinkPredicate = 0;  // written for `_`, never read
inline constexpr uint16_t kTruePredicate = 1;
inline constexpr uint16_t kNoPredicate = 0xffff;
struct PredicateRef {
  uint16_t index = kNoPredicate;
  LaneMask inverted = 0;  // kFullMask for !%p
  bool exists() const { return index != kNoPredicate; }
};

inline constexpr uint32_t kSinkRegister = 0;  // written for `_`, never read

enum class Op : uint8_t {
  kAlu,
  kLoad,
  kStore,
  kAtomic,
  kBranch,
  kBranchIndexed,
  kCall,
  kReturn,
  kExit,
  kTrap,
  kBarrier,
  kExchange,
  kActiveMask,
  kFence,
  kNothing,
  kSleep,
  kCopyAsync,
  kCommitAsync,
  kWaitAsync,
  kMatrix,
  kClock,
  kLocalAddress,
  kIsSpace,
  kUnsupported,
};

struct Step {
  Op op = Op::kNothing;
  Pipe pipe = Pipe::kControl;
  uint16_t guard = kTruePredicate;
  LaneMask guard_inverted = 0;
  uint32_t detail = 0;  // index into the program's table for `op`
  uint32_t target = 0;  // kBranch: the step to go to
  uint32_t line = 0;    // of the candidate's file; 0 where unknown
  uint32_t opcode = 0;  // index into Program::opcodes
};

struct AluStep {
  AluOperation operation;
  std::array<ValueRef, 4> destinations;  // destination, destination_high, further_destinations
  uint16_t predicate = kNoPredicate;
  uint16_t second_predicate = kNoPredicate;
  uint32_t source_count = 0;
  std::array<ValueRef, kAluSourcesMax> sources;
  std::array<PredicateRef, 2> source_predicates;
  bool unusual = false;  // has more than one destination and sources
};

enum class Space : uint8_t { kGeneric, kGlobal, kShared, kLocal, kConst, kKernelParameter, kFrameParameter };

struct MemoryOperand {
  Space space = Space::kGeneric;
  ValueRef base;  // absent: the offset alone
  uint64_t offset = 0;
  bool narrow = false;          // the base is a 32-bit register: addresses wrap there
  bool frame_relative = false;  // a variable of the frame's local memory
};

inline constexpr int kVectorMax = 8;

// ld, st, and their vectors.
struct AccessStep {
  MemoryOperand where;
  uint8_t element_bytes = 4;
  uint8_t count = 1;
  uint8_t sign_from_bits = 0;  // not 0: signed, from this many bits …
  uint8_t sign_to_bits = 0;    // … to the width of the register
  bool strong = false;         // volatile, relaxed, acquire: may be waiting for another thread
  std::array<ValueRef, kVectorMax> values;
};

// atom and red.
struct AtomicStep {
  MemoryOperand where;
  AtomicFunction function = nullptr;
  uint8_t element_bytes = 4;
  uint8_t count = 1;
  std::array<ValueRef, kVectorMax> destinations;  // absent for red
  std::array<ValueRef, kVectorMax> values;
  ValueRef swap;  // cas: the new value
};

// Warp-wide operations: lanes that need the values of other lanes.
struct ExchangeStep {
  enum class Kind : uint8_t {
    kBarrier,  // bar.warp.sync
    kShuffleUp,
    kShuffleDown,
    kShuffleButterfly,
    kShuffleIndex,
    kVoteAll,
    kVoteAny,
    kVoteUniform,
    kVoteBallot,
    kMatchAny,
    kMatchAll,
    kElect,
    kReduce,
  };
  Kind kind = Kind::kBarrier;
  AtomicFold fold = nullptr;  // kReduce
  bool wide = false;          // kMatch*: compare 64 bits, not 32
  ValueRef destination;
  uint16_t predicate = kNoPredicate;  // destination
  ValueRef value;
  ValueRef lane, clamp;  // kShuffle*
  PredicateRef source;   // kVote*
  ValueRef members;      // absent: the lanes that happen to be here
};

// bar and barrier.
struct BarrierStep {
  enum class Kind : uint8_t { kSync, kArrive, kPopulation, kAnd, kOr };
  Kind kind = Kind::kSync;
  bool aligned = true;
  ValueRef id;
  ValueRef count;  // absent: the whole block
  ValueRef destination;
  uint16_t predicate = kNoPredicate;
  PredicateRef source;
};

struct BranchTable {
  ValueRef index;
  std::vector<uint32_t> targets;
};

// A variable in the parameter space of a frame.
struct ParameterSlot {
  std::string name;
  uint32_t offset = 0;
  uint32_t bytes = 0;
};

struct CallStep {
  enum class Callee : uint8_t { kFunction, kIndirect, kPrintf, kAssertFail };
  Callee callee = Callee::kFunction;
  uint32_t function = 0;
  ValueRef address;  // kIndirect
  std::vector<ParameterSlot> arguments, returns;
};

struct CopyAsyncStep {
  MemoryOperand to, from;
  uint8_t bytes = 4;
  ValueRef source_bytes;       // absent: all
  PredicateRef ignore_source;  // absent: never
};

struct IsSpaceStep {
  Space space = Space::kGlobal;
  uint16_t predicate = kSinkPredicate;
  ValueRef address;
};

// SimpleStep::parameter of cp.async.wait_all, which is a commit and a wait for every group.
inline constexpr uint32_t kWaitForAll = 0xffffffffu;

// What a step writes that needs nothing else: kClock, kLocalAddress (offset), kActiveMask, kSleep (value), kWaitAsync.
struct SimpleStep {
  ValueRef destination;
  ValueRef value;
  uint64_t parameter = 0;
};

struct MatrixStep;  // matrix.h

struct FunctionCode {
  std::string name;
  uint64_t address = 0;  // as a function pointer
  uint32_t first_step = 0;
  uint32_t register_count = 1;
  uint32_t predicate_count = 2;
  uint32_t parameter_bytes = 0;  // of one lane's parameter space in a frame
  std::vector<ParameterSlot> parameters, returns;
  uint32_t local_bytes = 0;
};

struct SharedVariable {
  std::string name;
  uint32_t offset = 0;
  uint64_t bytes = 0;
};

struct Program {
  std::string kernel;
  std::vector<Step> steps;
  std::vector<std::string> opcodes;
  std::vector<FunctionCode> functions;  // the first is the kernel

  std::vector<AluStep> alu;
  std::vector<AccessStep> accesses;
  std::vector<AtomicStep> atomics;
  std::vector<ExchangeStep> exchanges;
  std::vector<BarrierStep> barriers;
  std::vector<BranchTable> branch_tables;
  std::vector<CallStep> calls;
  std::vector<CopyAsyncStep> copies;
  std::vector<IsSpaceStep> is_spaces;
  std::vector<SimpleStep> simple;
  std::vector<std::shared_ptr<const MatrixStep>> matrices;
  std::vector<std::string> unsupported;  // sentences
  // The first step of an instruction that is not known here, if the kernel can reach one.
  std::optional<uint32_t> unsupported_step;
  std::vector<Lanes> constants;
  std::vector<SpecialRegister> specials;

  std::vector<ParameterSlot> parameters;  // of the kernel, as laid out for a launch
  uint32_t parameter_bytes = 0;
  std::vector<SharedVariable> shared_variables;
  uint32_t shared_static_bytes = 0;
  uint32_t local_bytes_per_thread = 0;
  uint32_t max_threads = 0;       // .maxntid; 0: none
  uint32_t required_cluster = 1;  // blocks
};

}  // namespace fsr::sim
