// SPDX-License-Identifier: Apache-2.0
///
/// heddlec-emulated is heddlec with this file instead of compiler/Target/Cuda/PtxCode.cpp: GPU
/// kernels are compiled to a library for the host, in which every nvvm operation is a call of the
/// emulated device of tests/Emulator. All earlier stages, including entries, are those for a real
/// GPU. Kernels whose blocks share memory call the device before every memory access.
#include "compiler/Link/Linker.h"
#include "compiler/Target/Cuda/CudaTargets.h"
#include "compiler/Target/Cuda/DeviceUnits.h"
#include "compiler/Target/Cuda/OwnEntries.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Transforms/IPO/AlwaysInliner.h"
#include "llvm/Transforms/Scalar/EarlyCSE.h"
#include "llvm/Transforms/Scalar/SROA.h"
#include "llvm/Transforms/Scalar/Scalarizer.h"
#include "llvm/Transforms/Scalar/SimplifyCFG.h"

#include <cstdlib>
#include <mutex>

namespace heddle {

static constexpr llvm::StringLiteral kOperations = "llvm.nvvm.";
static constexpr llvm::StringLiteral kEmulated = "heddle_emulated_";
/// The array of shared memory, and the function that is called before memory is read or written.
static constexpr llvm::StringLiteral kShared = "heddle_emulated_shared";
static constexpr llvm::StringLiteral kTouch = "heddle_emulated_touch";
static constexpr unsigned kSharedSpace = 3;

/// Returns the least capable CPU target with FMA, which kernels need.
static const TargetDescription &hostTarget() { return *findTarget("x86-64-v3"); }

static void initializeCodeGenerator() {
  LLVMInitializeX86TargetInfo();
  LLVMInitializeX86Target();
  LLVMInitializeX86TargetMC();
  LLVMInitializeX86AsmPrinter();
}

/// Calls `emulated` instead of an operation of the device. If the result has several elements, the
/// function stores them to the address in its first argument, because the ABI for such results is
/// not portable.
static void replaceCalls(llvm::Function &operation, llvm::StringRef emulated) {
  llvm::Module &module = *operation.getParent();
  llvm::Type *const result = operation.getReturnType();
  if (!result->isStructTy() && !result->isVectorTy()) {
    operation.replaceAllUsesWith(
        module.getOrInsertFunction(emulated, operation.getFunctionType()).getCallee());
    return;
  }
  for (llvm::User *user : llvm::make_early_inc_range(operation.users())) {
    auto *const call = llvm::cast<llvm::CallInst>(user);
    llvm::Function &caller = *call->getFunction();
    llvm::IRBuilder<> frame(&*caller.getEntryBlock().getFirstInsertionPt());
    llvm::SmallVector<llvm::Value *> arguments = {frame.CreateAlloca(result)};
    llvm::append_range(arguments, call->args());
    llvm::SmallVector<llvm::Type *> types;
    for (llvm::Value *each : arguments) {
      types.push_back(each->getType());
    }
    auto *const type =
        llvm::FunctionType::get(llvm::Type::getVoidTy(module.getContext()), types, false);
    llvm::IRBuilder<> builder(call);
    builder.CreateCall(module.getOrInsertFunction(emulated, type), arguments);
    call->replaceAllUsesWith(builder.CreateLoad(result, arguments.front()));
    call->eraseFromParent();
  }
}

/// Returns the name of the only instruction in the text of inline assembly: the other lines declare
/// registers and set predicates. If its first matrix is in registers as well, which makes a second
/// list of registers, the name ends with ".words".
static std::string instructionOf(llvm::StringRef text) {
  for (llvm::StringRef line : llvm::split(text, '\n')) {
    const llvm::StringRef name = line.trim().split(' ').first;
    const bool isOther =
        name.empty() || name == "{" || name == "}" || name == ".reg" || name.starts_with("setp.");
    if (!isOther) {
      return name.rtrim(';').str() + (line.contains("}, {") ? ".words" : "");
    }
  }
  return "";
}

/// Calls the device instead of inline assembly. Its results are registers. If it reads them too,
/// they are its first operands; otherwise they have contained anything, here NaN. They are passed
/// in memory, with their number.
static void replaceAssembly(llvm::CallInst &call, llvm::StringRef instruction) {
  const auto *const assembly = llvm::cast<llvm::InlineAsm>(call.getCalledOperand());
  auto *const type = llvm::cast<llvm::StructType>(call.getType());
  const auto constraints = assembly->ParseConstraints();
  const unsigned count = type->getNumElements();
  llvm::IRBuilder<> frame(&*call.getFunction()->getEntryBlock().getFirstInsertionPt());
  llvm::Value *const registers = frame.CreateAlloca(type);
  llvm::IRBuilder<> builder(&call);
  const bool areRead = constraints.size() > count && constraints[count].Codes.front() == "0";
  for (unsigned i = 0; i < count; ++i) {
    assert((!areRead || constraints[count + i].Codes.front() == std::to_string(i)) &&
           "all registers are read, or none");
    llvm::Value *const before = areRead ? call.getArgOperand(i) : builder.getInt32(~0U);
    builder.CreateStore(before, builder.CreateStructGEP(type, registers, i));
  }
  llvm::SmallVector<llvm::Value *> arguments = {registers, builder.getInt32(count)};
  llvm::append_range(arguments, llvm::drop_begin(call.args(), areRead ? count : 0));
  llvm::SmallVector<llvm::Type *> types;
  for (llvm::Value *each : arguments) {
    types.push_back(each->getType());
  }
  std::string name = (kEmulated + "asm_" + instruction).str();
  llvm::replace(name, '.', '_');
  auto *const function = llvm::FunctionType::get(builder.getVoidTy(), types, false);
  builder.CreateCall(call.getModule()->getOrInsertFunction(name, function), arguments);
  call.replaceAllUsesWith(builder.CreateLoad(type, registers));
  call.eraseFromParent();
}

/// Does this for all inline assembly of a function that has an instruction: some has none, and only
/// hides a value from LLVM.
static void replaceAssembly(llvm::Function &function) {
  for (llvm::Instruction &instruction : llvm::make_early_inc_range(llvm::instructions(function))) {
    auto *const call = llvm::dyn_cast<llvm::CallInst>(&instruction);
    if (!call || !call->isInlineAsm()) {
      continue;
    }
    const std::string name =
        instructionOf(llvm::cast<llvm::InlineAsm>(call->getCalledOperand())->getAsmString());
    if (!name.empty()) {
      replaceAssembly(*call, name);
    }
  }
}

/// Converts functions for a GPU to functions for the host.
static void moveToHost(llvm::Module &module) {
  for (llvm::Function &function : llvm::make_early_inc_range(module)) {
    function.setCallingConv(llvm::CallingConv::C);
    function.removeFnAttr("target-cpu");
    function.removeFnAttr("target-features");
    replaceAssembly(function);
    llvm::StringRef operation = function.getName();
    if (!operation.consume_front(kOperations)) {
      continue;
    }
    std::string name = kEmulated.str() + operation.str();
    llvm::replace(name, '.', '_');
    replaceCalls(function, name);
    function.eraseFromParent();
  }
  for (llvm::GlobalVariable &variable : module.globals()) {
    if (variable.isDeclaration() && variable.getAddressSpace() == kSharedSpace) {
      variable.setName(kShared);
    }
  }
}

/// Calls a function for all loads of vectors from shared memory.
static void forSharedVectors(llvm::Module &module,
                             llvm::function_ref<void(llvm::LoadInst &load)> change) {
  for (llvm::Function &function : module) {
    for (llvm::Instruction &instruction : llvm::instructions(function)) {
      auto *const load = llvm::dyn_cast<llvm::LoadInst>(&instruction);
      if (load && load->getPointerAddressSpace() == kSharedSpace && load->getType()->isVectorTy()) {
        change(*load);
      }
    }
  }
}

/// Keeps vector loads from shared memory whole, because the use of banks depends on their size, and
/// passes may split them.
static void keepWhole(llvm::Module &module) {
  forSharedVectors(module, [](llvm::LoadInst &load) { load.setVolatile(true); });
}

/// Returns whether memory belongs to the unit itself: a stack frame or a constant table.
static bool isOwn(const llvm::Value *address) {
  const llvm::Value *const object = llvm::getUnderlyingObject(address);
  return llvm::isa<llvm::AllocaInst>(object) ||
         (llvm::isa<llvm::GlobalVariable>(object) && object->getName() != kShared);
}

/// Returns whether the threads of a unit's blocks work together.
static bool isTogether(const llvm::Module &module) {
  return llvm::any_of(
      module, [](const llvm::Function &function) { return function.hasFnAttribute(kTogether); });
}

/// Calls the device before every memory access in a unit whose threads cooperate: the device checks
/// for races and for accesses outside allocations.
static void announceAccesses(llvm::Module &module) {
  if (!isTogether(module)) {
    return;
  }
  llvm::SmallVector<llvm::Instruction *> accesses;
  for (llvm::Function &function : module) {
    for (llvm::Instruction &instruction : llvm::instructions(function)) {
      const llvm::Value *const address = llvm::getLoadStorePointerOperand(&instruction);
      if (address && !isOwn(address)) {
        accesses.push_back(&instruction);
      }
    }
  }
  for (llvm::Instruction *access : accesses) {
    llvm::IRBuilder<> builder(access);
    llvm::Value *const address = llvm::getLoadStorePointerOperand(access);
    const uint64_t bytes =
        module.getDataLayout().getTypeStoreSize(llvm::getLoadStoreType(access)).getFixedValue();
    llvm::FunctionCallee touch = module.getOrInsertFunction(
        kTouch, builder.getVoidTy(), builder.getInt64Ty(), builder.getInt64Ty(),
        builder.getInt64Ty(), builder.getInt32Ty());
    builder.CreateCall(touch, {builder.CreatePtrToInt(address, builder.getInt64Ty()),
                               builder.getInt64(bytes),
                               builder.getInt64(llvm::getLoadStoreAlignment(access).value()),
                               builder.getInt32(llvm::isa<llvm::StoreInst>(access))});
  }
}

/// Returns what an instruction can be written as that LLVM's fast instruction selection knows;
/// null for most. It selects other code in several times as long.
static llvm::Value *simplerForm(llvm::Instruction &instruction) {
  llvm::IRBuilder<> builder(&instruction);
  if (auto *const cast = llvm::dyn_cast<llvm::AddrSpaceCastInst>(&instruction)) {
    llvm::Value *const address =
        builder.CreatePtrToInt(cast->getPointerOperand(), builder.getInt64Ty());
    return builder.CreateIntToPtr(address, cast->getType());
  }
  if (auto *const choice = llvm::dyn_cast<llvm::MinMaxIntrinsic>(&instruction)) {
    llvm::Value *const left = choice->getLHS(), *const right = choice->getRHS();
    return builder.CreateSelect(builder.CreateICmp(choice->getPredicate(), left, right), left,
                                right);
  }
  // What hides a value from LLVM.
  auto *const call = llvm::dyn_cast<llvm::CallInst>(&instruction);
  const auto *const assembly =
      call ? llvm::dyn_cast<llvm::InlineAsm>(call->getCalledOperand()) : nullptr;
  const bool hides = assembly && assembly->getAsmString().empty() && call->arg_size() == 1 &&
                     call->getArgOperand(0)->getType() == call->getType();
  return hides ? call->getArgOperand(0) : nullptr;
}

/// Writes instructions in the form that takes the code generator the least time.
static void simplifyInstructions(llvm::Module &module) {
  for (llvm::Function &function : module) {
    for (llvm::Instruction &instruction :
         llvm::make_early_inc_range(llvm::instructions(function))) {
      if (llvm::Value *const other = simplerForm(instruction)) {
        instruction.replaceAllUsesWith(other);
        instruction.eraseFromParent();
      }
    }
  }
}

/// Returns whether LLVM changes the code by all passes, as for a GPU, or by few, which take a
/// fraction of the time: HEDDLE_EMULATED_PASSES is "all" or "few", the default.
static bool hasAllPasses() {
  const char *const value = std::getenv("HEDDLE_EMULATED_PASSES");
  const llvm::StringRef passes = value == nullptr ? "few" : value;
  if (passes != "all" && passes != "few") {
    llvm::reportFatalUsageError("HEDDLE_EMULATED_PASSES is '" + passes + "', expected all or few");
  }
  return passes == "all";
}

/// Keeps variables in registers and removes what is computed twice.
static void simplifyUnit(llvm::Module &module, llvm::TargetMachine &machine) {
  runPasses(module, machine, [](llvm::PassBuilder &) {
    llvm::FunctionPassManager passes;
    passes.addPass(llvm::SROAPass(llvm::SROAOptions::ModifyCFG));
    passes.addPass(llvm::EarlyCSEPass(/*UseMemorySSA=*/true));
    passes.addPass(llvm::SimplifyCFGPass());
    llvm::ModulePassManager all;
    all.addPass(llvm::AlwaysInlinerPass());
    all.addPass(llvm::createModuleToFunctionPassAdaptor(std::move(passes)));
    return all;
  });
}

/// Computes with single numbers, because LLVM's fast instruction selection does not know how to
/// take vectors apart. Accesses have been announced whole before.
static void splitVectors(llvm::Module &module, llvm::TargetMachine &machine) {
  forSharedVectors(module, [](llvm::LoadInst &load) { load.setVolatile(false); });
  runPasses(module, machine, [](llvm::PassBuilder &) {
    llvm::ScalarizerPassOptions options;
    options.ScalarizeLoadStore = true;
    llvm::ModulePassManager all;
    all.addPass(llvm::createModuleToFunctionPassAdaptor(llvm::ScalarizerPass(options)));
    return all;
  });
}

namespace {

class HostCode final : public TargetCode {
public:
  explicit HostCode(std::vector<CodeUnit> kernels) : kernels(std::move(kernels)) {}

  llvm::ArrayRef<CodeUnit> units() const override { return kernels; }
  std::string compilerIdentity() const override {
    const char *const emulated = hasAllPasses() ? ", emulated" : ", emulated by few passes";
    return llvmIdentity(hostTarget()) + emulated;
  }
  Result<Code> compile(const CodeUnit &unit) const override {
    return compileTo(unit, llvm::CodeGenFileType::ObjectFile);
  }
  Result<std::vector<DeviceImage>> images(llvm::ArrayRef<Code> code,
                                          const DeviceTools &tools) const override;
  Result<Code> assembly() const override;

private:
  static Result<Code> compileTo(const CodeUnit &unit, llvm::CodeGenFileType type);

  std::vector<CodeUnit> kernels;
};

} // namespace

Result<Code> HostCode::compileTo(const CodeUnit &unit, llvm::CodeGenFileType type) {
  llvm::LLVMContext context;
  HEDDLE_ASSIGN(std::unique_ptr<llvm::TargetMachine> machine, createMachine(hostTarget()));
  HEDDLE_ASSIGN(std::unique_ptr<llvm::Module> module, parseUnit(unit, context));
  moveToHost(*module);
  keepWhole(*module);
  // How well the code is compiled for the host does not matter: that takes longer than most kernels
  // of tests.
  if (hasAllPasses()) {
    optimizeUnit(*module, *machine);
  } else {
    simplifyUnit(*module, *machine);
  }
  machine->setOptLevel(llvm::CodeGenOptLevel::None);
  announceAccesses(*module);
  splitVectors(*module, *machine);
  simplifyInstructions(*module);
  HEDDLE_TRY(finishUnit(*module, unit, kEmulated));
  return emitCode(*module, *machine, type);
}

Result<std::vector<DeviceImage>> HostCode::images(llvm::ArrayRef<Code> code,
                                                  const DeviceTools &tools) const {
  if (!tools.ptxas.empty()) {
    return HEDDLE_ERROR(InvalidArgument, "the emulated device takes no cubin");
  }
  HEDDLE_ASSIGN(const std::string library, linkSharedObject(code, MissingSymbols::FoundOnLoading));
  return std::vector<DeviceImage>{
      {manifest::ImageKind::Host, Code(library.begin(), library.end()), llvmName()}};
}

Result<Code> HostCode::assembly() const {
  Code all;
  for (const CodeUnit &unit : kernels) {
    HEDDLE_ASSIGN(const Code text, compileTo(unit, llvm::CodeGenFileType::AssemblyFile));
    all.append(text.begin(), text.end());
  }
  return all;
}

Result<std::unique_ptr<TargetCode>> translateToDevice(mlir::ModuleOp module,
                                                      const TargetDescription &target) {
  static std::once_flag once;
  std::call_once(once, initializeCodeGenerator);
  HEDDLE_ASSIGN(std::unique_ptr<llvm::TargetMachine> machine, createMachine(hostTarget()));
  HEDDLE_ASSIGN(std::vector<CodeUnit> units, deviceUnits(module, target, *machine));
  return std::unique_ptr<TargetCode>(std::make_unique<HostCode>(std::move(units)));
}

} // namespace heddle
