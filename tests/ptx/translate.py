"""Translates PTX, as nvcc emits it, to C++: a function for each PTX function.

    translate.py KERNELS.ptx OUT.cc

The C++ calls tests/ptx/thread.h and tests/ptx/instructions.h, and registers
each entry by its mangled name. What is not known is an error that names the
instruction and its line.
"""

import collections
import functools
import math
import re
import sys

TYPES = {
    "pred": "bool",
    "b8": "uint8_t", "u8": "uint8_t", "s8": "int8_t",
    "b16": "uint16_t", "u16": "uint16_t", "s16": "int16_t",
    "b32": "uint32_t", "u32": "uint32_t", "s32": "int32_t",
    "b64": "uint64_t", "u64": "uint64_t", "s64": "int64_t",
    "f16": "F16", "bf16": "Bf16", "f32": "float", "f64": "double",
}
HALVES = ("F16", "Bf16")
FLOATS = ("float", "double") + HALVES
# Hints, and what all approximations share: they change no result.
HINTS = re.compile(r"ca|cg|cs|lu|cv|wb|wt|nc|sync|aligned|approx|full|noftz|"
                   r"L[12]::\w+")
SPACES = {"global": "Global", "shared": "Shared", "local": "Local",
          "param": "Local", "const": "Local"}
# Words of instructions that order the accesses of different blocks.
FENCES = {"membar", "fence", "acquire", "release", "acq_rel"}
ORDERS = ("volatile", "relaxed", "acquire", "release", "acq_rel", "mmio")
SPECIAL = {"WARP_SZ": "32", "%laneid": "t.lane", "%warpid": "t.index / 32",
           "%nwarpid": "(t.shape->num_threads + 31) / 32",
           "%lanemask_eq": "1u << t.lane",
           "%lanemask_lt": "(1u << t.lane) - 1",
           "%lanemask_le": "(2u << t.lane) - 1",
           "%lanemask_gt": "~((2u << t.lane) - 1)",
           "%lanemask_ge": "~((1u << t.lane) - 1)",
           "%smid": "0", "%nsmid": "1", "%gridid": "0",
           "%clock": "t.Clock()", "%clock64": "t.Clock()",
           "%globaltimer": "t.Clock()",
           "%dynamic_smem_size": "t.shape->dynamic_shared"}
for axis in "xyz":
    SPECIAL[f"%tid.{axis}"] = f"t.tid.{axis}"
    for name in ("ntid", "ctaid", "nctaid"):
        SPECIAL[f"%{name}.{axis}"] = f"t.shape->{name}.{axis}"

# The instructions that are an expression. In each line: the instruction without
# hints; the types of its result (`-` if there is none) and operands; the C++ of
# the operands a, b, c... INT and the like stand for types: T is the first of
# them, S the second, U the unsigned integer of T's size, and W the integer of
# twice its size. After a semicolon stands the result that follows a `|`, where
# r is the first result. LINE is the line of the PTX.
INSTRUCTIONS = """
add.ANY                    T T T      a + b
add.sat.s32                s32 s32 s32  SaturateInt<int32_t>(int64_t{a} + b)
add.cc.INT                 U U U      AddWithCarry(a, b, false, &carry)
addc.INT                   U U U      a + b + carry
addc.cc.INT                U U U      AddWithCarry(a, b, carry, &carry)
sub.ANY                    T T T      a - b
sub.cc.INT                 U U U      SubtractWithCarry(a, b, false, &carry)
subc.INT                   U U U      a - b - carry
subc.cc.INT                U U U      SubtractWithCarry(a, b, carry, &carry)
mul(.lo)?.ANY              T T T      a * b
mul.hi.INT                 T T T      HighProduct(a, b)
mul.wide.INT               W T T      W{a} * b
mul24.lo.INT               T T T      Low24(a) * Low24(b)
mad.lo.INT                 T T T T    a * b + c
mad.hi.INT                 T T T T    HighProduct(a, b) + c
mad.wide.INT               W T T W    W{a} * b + c
(fma|mad).FLOAT            T T T T    Fma(a, b, c)
div.ANY                    T T T      Quotient(a, b)
rem.INT                    T T T      Remainder(a, b)
min.ANY                    T T T      Min(a, b)
max.ANY                    T T T      Max(a, b)
sad.INT                    T T T T    c + (a < b ? b - a : a - b)
dp4a.INT.INT               b32 T S b32  Dot4(a, b, c)
neg.INT                    T T        -a
abs.INT                    T T        a < 0 ? -a : a
neg.FLOAT                  U U        a ^ kTopBit<U>
abs.FLOAT                  U U        a & ~kTopBit<U>
neg.ftz.f32                b32 f32    Out(Flush(a)) ^ kTopBit<uint32_t>
abs.ftz.f32                b32 f32    Out(Flush(a)) & ~kTopBit<uint32_t>
copysign.FLOAT             U U U      (a & kTopBit<U>) | (b & ~kTopBit<U>)
rcp.FLOAT                  T T        1 / a
rcp.ftz.f64                f64 f64    UpperHalf(1 / a)
sqrt.FLOAT                 T T        std::sqrt(a)
rsqrt.FLOAT                T T        1 / std::sqrt(a)
rsqrt.ftz.f64              f64 f64    UpperHalf(1 / std::sqrt(a))
ex2.FLOAT                  T T        std::exp2(a)
lg2.FLOAT                  T T        std::log2(a)
sin.FLOAT                  T T        std::sin(a)
cos.FLOAT                  T T        std::cos(a)
tanh.FLOAT                 T T        std::tanh(a)
testp.finite.FLOAT         pred T     std::isfinite(a)
testp.infinite.FLOAT       pred T     std::isinf(a)
testp.number.FLOAT         pred T     !std::isnan(a)
testp.notanumber.FLOAT     pred T     std::isnan(a)
testp.normal.FLOAT         pred T     std::isnormal(a)
testp.subnormal.FLOAT      pred T     std::fpclassify(a) == FP_SUBNORMAL

and.BITS                   T T T      a & b
or.BITS                    T T T      a | b
xor.BITS                   T T T      a ^ b
not.INT                    T T        ~a
not.pred                   pred pred  !a
cnot.INT                   T T        a == 0
shl.INT                    T T u32    ShiftLeft(a, b)
shr.INT                    T T u32    ShiftRight(a, b)
shf.l.wrap.b32             b32 b32 b32 b32  FunnelLeft(a, b, c & 31)
shf.l.clamp.b32            b32 b32 b32 b32  FunnelLeft(a, b, std::min(c, 32u))
shf.r.wrap.b32             b32 b32 b32 b32  FunnelRight(a, b, c & 31)
shf.r.clamp.b32            b32 b32 b32 b32  FunnelRight(a, b, std::min(c, 32u))
lop3.INT                   T T T T u32  Lop3(a, b, c, d)
prmt.b32                   b32 b32 b32 b32  Permute(a, b, c)
bfe.INT                    T T u32 u32  ExtractBits(a, b, c)
szext.clamp.INT            T T u32    ExtractBits(a, 0, b)
szext.wrap.INT             T T u32    ExtractBits(a, 0, b & 31)
bfi.INT                    T T T u32 u32  InsertBits(a, b, c, d)
bmsk.clamp.b32             b32 b32 b32  BitMask(a, b)
bmsk.wrap.b32              b32 b32 b32  BitMask(a & 31, b & 31)
popc.INT                   u32 T      __builtin_popcountll(a)
clz.INT                    u32 T      LeadingZeros(a)
brev.INT                   T T        ReverseBits(a)
bfind.INT                  u32 T      FindBit(a, false)
bfind.shiftamt.INT         u32 T      FindBit(a, true)
fns.b32                    b32 b32 b32 s32  FindNthSet(a, b, c)

setp.COMPARE.ANY           pred|pred T T       X; !X
setp.COMPARE.LOGIC.ANY     pred|pred T T pred  X L c; !X L c
set.COMPARE.ANY.ANY        T S S      Truth<T>(X)
set.COMPARE.LOGIC.ANY.ANY  T S S pred  Truth<T>(X L c)
selp.ANY                   U U U pred  c ? a : b
slct.ANY.ANY               U U U S    c >= 0 ? a : b

mov.ANY                    U U        a
mov.pred                   pred pred  a
cvta(.to)?(.(global|local|param|const))?.INT  T T  a
cvta.shared.INT            T T        t.shared_address + a
cvta.to.shared.INT         T T        a - t.shared_address
isspacep.global            pred u64   t.IsGlobal(a)
isspacep.shared            pred u64   t.IsShared(a)
isspacep.(local|param|const)  pred u64  t.IsLocal(a)
cvt.INT.INT                T S        a
cvt.sat.INT.INT            T S        SaturateInt<T>(a)
cvt.INTEGRAL.INT.FLOAT     T S        ToInteger<T>(I(a))
cvt.INTEGRAL.FLOAT.FLOAT   T S        T(I(a))
cvt.REAL.INT               T S        T(a)
cvt.FLOAT.FLOAT            T S        T(a)
cvt.rz.HALF.f32            T f32      TowardZero<T>(a)
cvt.rn.HALFx2.f32          b32 f32 f32  Pair(T(b), T(a))
cvt.rn.relu.HALFx2.f32     b32 f32 f32  Pair(T(Relu(b)), T(Relu(a)))
cvt.rz.HALFx2.f32          b32 f32 f32  Pair(TowardZero<T>(b), TowardZero<T>(a))

membar.(gl|sys)            -          t.Fence()
membar.cta                 -          (void)0
fence.ORDER.(cluster|gpu|sys)  -      t.Fence()
fence.ORDER.cta            -          (void)0
fence.proxy.(alias|async)  -          t.Fence()
BARRIER                    - u32      t.Barrier(a, 0, false, LINE)
BARRIER                    - u32 u32  t.Barrier(a, b, false, LINE)
BARRIER.arrive             - u32 u32  t.Arrive(a)
BARRIER.red.popc.u32       u32 u32 pred       t.Barrier(a, 0, b, LINE)
BARRIER.red.popc.u32       u32 u32 u32 pred   t.Barrier(a, b, c, LINE)
BARRIER.red.or.pred        pred u32 pred      t.Barrier(a, 0, b, LINE)
BARRIER.red.or.pred        pred u32 u32 pred  t.Barrier(a, b, c, LINE)
BARRIER.red.and.pred       pred u32 pred      !t.Barrier(a, 0, !b, LINE)
BARRIER.red.and.pred       pred u32 u32 pred  !t.Barrier(a, b, !c, LINE)
bar.warp                   - u32      t.Warp(kSync, 0, a, LINE)
shfl.MEET.b32  b32|pred b32 u32 u32 u32  t.Shuffle(K, a, b, c, d, LINE); t.valid
vote.all.pred              pred pred u32  t.Warp(kAnd, a, b, LINE)
vote.any.pred              pred pred u32  t.Warp(kOr, a, b, LINE)
vote.uni.pred              pred pred u32  t.Warp(kSame, a, b, LINE)
vote.ballot.b32            b32 pred u32   t.Warp(kOr, a << t.lane, b, LINE)
match.any.INT              b32 U u32  t.Warp(kMatch, a, b, LINE)
match.all.INT              b32|pred U u32  t.Warp(kSame, a, b, LINE); r != 0
redux.MEET.INT             T T u32    t.Warp(K, a, b, LINE)
elect          b32|pred u32  t.Warp(kMin, t.lane, a, LINE); r == t.lane
activemask.b32             b32        1u << t.lane

nanosleep.u32              - u32      t.Yield()
ret(.uni)?                 -          return
exit                       -          t.Exit()
trap|brkpt                 -          t.Fail(LINE, "trap")
"""
# What the words of these lines stand for: types, and other modifiers.
CLASSES = {"INT": "[bus](?:8|16|32|64)", "BITS": "pred|b16|b32|b64",
           "REAL": "f32|f64", "HALF": "b?f16", "FLOAT": "f32|f64|b?f16(?:x2)?",
           "ANY": "[bus](?:8|16|32|64)|f32|f64|b?f16(?:x2)?"}
MODIFIERS = {"COMPARE": "(?P<X>[a-z]+)", "LOGIC": "(?P<L>and|or|xor)",
             "INTEGRAL": "(?P<I>r[nzmp]i)", "MEET": "(?P<K>[a-z]+)",
             "ORDER": "(?:sc|acq_rel|acquire|release)",
             "BARRIER": r"bar(?:rier)?(?:\.cta)?"}
MEANINGS = {
    # Of NaNs `ne` is false, and what ends in `u` is true.
    "X": {"eq": "(a == b)", "ne": "(a < b || a > b)", "lt": "(a < b)",
          "le": "(a <= b)", "gt": "(a > b)", "ge": "(a >= b)",
          "lo": "(a < b)", "ls": "(a <= b)", "hi": "(a > b)",
          "hs": "(a >= b)", "equ": "(!(a < b || a > b))", "neu": "(a != b)",
          "ltu": "(!(a >= b))", "leu": "(!(a > b))", "gtu": "(!(a <= b))",
          "geu": "(!(a < b))", "num": "(!IsNan(a, b))", "nan": "IsNan(a, b)"},
    "L": {"and": "&", "or": "|", "xor": "^"},
    "I": {"rni": "std::nearbyint", "rzi": "std::trunc", "rmi": "std::floor",
          "rpi": "std::ceil"},
    "K": {word: "k" + word.title() for word in (
        "up", "down", "bfly", "idx", "add", "min", "max", "and", "or", "xor")},
}
ROUNDINGS = {"rn": "", "rz": "FE_TOWARDZERO", "rm": "FE_DOWNWARD",
             "rp": "FE_UPWARD"}
# Other modifiers of floats, from the first that takes effect.
WRAPPERS = {"NaN": "NanOr({}, a, b)", "relu": "Relu({})",
            "sat": "Saturate({})", "ftz": "Flush({})"}
# What an atomic operation writes.
ATOMICS = {"add": "old + a", "min": "Min(old, a)", "max": "Max(old, a)",
           "and": "old & a", "or": "old | a", "xor": "old ^ a", "exch": "a",
           "cas": "old == a ? b : old", "inc": "old >= a ? 0 : old + 1",
           "dec": "old == 0 || old > a ? a : old - 1"}


class Error(Exception):
    """What cannot be translated."""


def bytes_of(type_):
    """The size of a type other than pred."""
    return int(re.sub(r"\D", "", type_)) // 8


def name_of(symbol, prefix="N_"):
    symbol = symbol.replace("$", "_S").replace("%", "R")
    return prefix + re.sub(r"\W", "_", symbol)


def split(text):
    """The parts of a list, whose brackets may hold commas of their own."""
    parts = re.findall(r"(?:\{[^}]*\}|\([^)]*\)|[^,{(])+", text)
    return [part.strip() for part in parts if part.strip()]


def rows():
    """The lines of INSTRUCTIONS: pattern, types, and expressions."""
    for line in filter(None, INSTRUCTIONS.splitlines()):
        name, types, expressions = re.split(r"\s{2,}", line, maxsplit=2)
        name = name.replace(".", r"\.")
        for word, pattern in MODIFIERS.items():
            name = name.replace(word, pattern)
        letters = iter("TS")
        name = re.sub("|".join(CLASSES),
                      lambda m: f"(?P<{next(letters)}>{CLASSES[m[0]]})", name)
        yield re.compile(name), types.split(), expressions.split("; ")


ROWS = list(rows())
# The C++ of an instruction: the types of its results, the declarations of its
# operands with {} for each, and the results' expressions. rounds: the mode is
# another than to the nearest; is_pair: all this for each half of registers.
Form = collections.namedtuple("Form",
                              "results operands expressions rounds is_pair")


@functools.lru_cache(maxsize=None)
def find_form(mnemonic, num_operands):
    modifiers = mnemonic.split(".")
    for words in ((), WRAPPERS, {**WRAPPERS, **ROUNDINGS}):
        name = ".".join(m for m in modifiers if m not in words)
        for pattern, types, expressions in ROWS:
            match = pattern.fullmatch(name)
            if match and len(types) - (types[0] == "-") == num_operands:
                return make_form(match.groupdict(), types, expressions,
                                 [m for m in words if m in modifiers])
    raise Error("unknown instruction")


def make_form(words, types, expressions, modifiers):
    """A row of the table for the types and other words that were found."""
    words = {k: MEANINGS[k][v] if k in MEANINGS else v
             for k, v in words.items() if v}
    first = words.get("T", "pred").removesuffix("x2")
    is_pair = words.get("T", "").endswith("x2")
    if first != "pred":
        size = bytes_of(first)
        words.update(T=first, U=f"u{8 * size}", W=f"{first[0]}{16 * size}")
    words = {k: TYPES.get(v, v) for k, v in words.items()}
    result, *operands = types
    results = [words.get(t) or TYPES[t] for t in result.split("|") if t != "-"]
    expressions = [re.sub(r"\b[TSUWXLIK]\b", lambda m: words[m[0]], e)
                   for e in expressions]
    mode = "".join(ROUNDINGS.get(m, "") for m in modifiers)
    floats = {words.get("T"), words.get("S")}.intersection(FLOATS)
    if modifiers and not floats or mode and floats.intersection(HALVES):
        raise Error("unknown modifier ." + " .".join(modifiers))
    for word, wrapper in WRAPPERS.items():
        if word in modifiers and results[0] in FLOATS and (
                word != "ftz" or results[0] == "float"):
            expressions[0] = wrapper.format(expressions[0])
    code = f"const Rounding rounding({mode}); " if mode else ""
    for name, type_ in zip("abcdef", operands):
        c = words.get(type_) or TYPES[type_]
        flush = "ftz" in modifiers and c == "float"
        # Volatile: the compiler does not know that the rounding changes.
        code += (f"{'volatile' if mode else 'const'} {c} {name} = "
                 f"{'Flush' if flush else ''}(In<{c}>({{}})); ")
    return Form(results, code, expressions, bool(mode), is_pair)


Variable = collections.namedtuple("Variable", "name type size align values")


def variable(text):
    """A declaration such as `.align 8 .b8 x[16] = {1, 2}`."""
    declared, _, values = text.partition("=")
    match = re.search(r"\.(\w+)\s+([\w$%]+)\s*((?:\[\d*\])*)\s*$", declared)
    if not match or match[1] not in TYPES:
        raise Error(f"declaration of unknown form: {text[:80]}")
    values = split(values.strip().strip("{}"))
    size = bytes_of(match[1])
    count = math.prod(int(extent or len(values))
                      for extent in re.findall(r"\[(\d*)\]", match[3]))
    align = re.search(r"\.align\s+(\d+)", declared)
    return Variable(match[2], match[1], size * count,
                    int(align[1]) if align else size, values)


def variables(text):
    return [variable(part) for part in split(text or "")]


Function = collections.namedtuple(
    "Function", "name is_entry params max_threads statements words")

DECLARATION = re.compile(
    r"(?P<extern>\.extern\s+)?(?:\.(?:visible|weak|common)\s+)*"
    r"\.(?:(?P<kind>entry|func)\s*(?:\((?P<result>[^)]*)\)\s*)?"
    r"(?P<name>[\w$%]+)\s*(?:\((?P<params>[^)]*)\))?(?P<rest>[^;{]*)"
    r"(?P<end>[;{])|(?P<space>global|const|shared)\b(?P<variable>[^;]*);)")
STATEMENT = re.compile(
    r"\s*(?:(?P<brace>[{}])|(?P<label>[\w$]+)\s*:(?!:)|"
    r"""(?P<text>(?:"[^"]*"|\{[^{}]*\}|[^;{}"])+);)""")


class Module:
    """A PTX file: its functions, variables, and lines of source."""

    def __init__(self, text):
        def blank(match):
            return re.sub(r"[^\n]", " ", match[0])

        text = re.sub(r"/\*.*?\*/", blank, text, flags=re.S)
        text = re.sub(r"//[^\n]*", "", text)
        files = dict(re.findall(r'^\s*\.file\s+(\d+)\s+"(?:[^"]*/)?([^"/]*)"',
                                text, re.M))
        # The first line of the PTX, the file and the line of a piece of source.
        self.locations = []
        for number, line in enumerate(text.split("\n"), 1):
            match = re.match(r"\s*\.loc\s+(\d+)\s+(\d+)", line)
            if match and match[2] != "0":
                self.locations.append((number, files[match[1]], match[2]))
        text = re.sub(r"\.section[^{]*\{.*?\n\s*\}", blank, text, flags=re.S)
        self.text = re.sub(
            r"^[ \t]*\.(loc|file|version|target|address_size)\b[^\n]*",
            blank, text, flags=re.M)
        self.functions = {}
        self.variables = {}  # Name to (space, Variable).
        position = 0
        while match := DECLARATION.search(self.text, position):
            position = match.end()
            if match["end"] == "{":
                position = self.parse_function(match)
            elif match["space"]:
                found = variable(" ".join(match["variable"].split()))
                is_dynamic = match["extern"] and match["space"] == "shared"
                self.variables[found.name] = (
                    "dynamic" if is_dynamic else match["space"], found)

    def parse_function(self, head):
        """Adds a function, and returns where it ends."""
        position, depth, statements = head.end(), 1, []
        line = self.text.count("\n", 0, position) + 1
        while depth:
            match = STATEMENT.match(self.text, position)
            kind = match.lastgroup
            line += self.text.count("\n", position, match.start(kind))
            depth += {"{": 1, "}": -1}.get(match[kind], 0)
            statements.append((line, " ".join(match[kind].split()) +
                               ":" * (kind == "label")))
            line += self.text.count("\n", match.start(kind), match.end())
            position = match.end()
        limit = re.search(r"\.(?:max|req)ntid\s+([\d,\s]+)", head["rest"])
        self.functions[head["name"]] = Function(
            head["name"], head["kind"] == "entry",
            variables(head["result"]) + variables(head["params"]),
            math.prod(map(int, split(limit[1]))) if limit else 1024,
            statements[:-1],
            set(re.findall(r"[\w$]+", self.text[head.end():position])))
        return position

    def reached(self, function):
        """The functions that an entry runs, by name."""
        found, queue = {}, [function]
        while queue:
            f = queue.pop()
            found[f.name] = f
            queue += [self.functions[w] for w in sorted(f.words)
                      if w in self.functions and w not in found]
        return found


class Translator:
    """Makes the C++ of one function as one entry calls it."""

    def __init__(self, module, function, functions, shared):
        """shared: where each variable in the entry's shared memory begins."""
        self.function = function
        self.functions = functions
        self.names = set()  # Registers, and symbols that have an address.
        self.used_bytes = "~0u"
        self.out = [f"static void {name_of(function.name)}"
                    "(Thread& t, uint8_t* const* p) {", "bool carry = false;"]
        places = {v.name: f"Address(p[{i}])"
                  for i, v in enumerate(function.params)}
        for name in sorted(function.words):
            if name in shared:
                places[name] = shared[name]
            elif name in module.variables:
                places[name] = f"Address({name_of(name, 'V_')})"
        for name, place in places.items():
            self.declare_address(name, place)

    def declare_address(self, name, place):
        self.names.add(name)
        self.out.append(f"const uint64_t {name_of(name)} = {place};")

    # Operands.

    def symbol(self, name):
        if name not in self.names:
            raise Error(f"operand {name}")
        return name_of(name)

    def bits(self, operand):
        """The C++ of an operand's bits."""
        if operand.startswith("!"):
            return f"!{self.symbol(operand[1:].strip())}"
        if match := re.fullmatch(r"0[fFdD]([0-9a-fA-F]+)", operand):
            return f"0x{match[1]}ull"
        if re.fullmatch(r"-?(0x[0-9a-fA-F]+|\d+)U?", operand):
            return f"{int(operand.rstrip('U'), 0) % (1 << 64)}ull"
        if operand in SPECIAL:
            return SPECIAL[operand]
        if match := re.fullmatch(r"([\w$%]+)\s*\+\s*(-?\d+)", operand):
            return f"{self.symbol(match[1])} + ({match[2]})"
        return self.symbol(operand)

    def value(self, operand, c):
        """The C++ of an operand, read as a C++ type."""
        return f"In<{c}>({self.bits(operand)})"

    def set(self, register, value):
        register = register.strip()
        if register == "_":
            return f"(void)({value});"
        return f"{self.symbol(register)} = {value};"

    # Instructions.

    def instruction(self, line, text):
        match = re.fullmatch(r"(?:@(!?)([\w%$]+)\s+)?([a-z][\w.:]*)\s*(.*)",
                             text)
        if not match:
            raise Error("statement of unknown form")
        negated, predicate, mnemonic, rest = match.groups()
        self.line = line
        op, *self.mods = [m for m in mnemonic.split(".")
                          if not HINTS.fullmatch(m)]
        operands = split(rest)
        method = getattr(self, "op_" + op, None)
        if op == "mov" and "{" in rest:
            method = self.move_parts
        if method:
            code = method(*operands)
            if self.mods:
                raise Error("unknown modifier ." + " .".join(self.mods))
        else:
            code = self.compute(".".join([op] + self.mods), operands)
        if predicate:
            code = f"if ({negated}{self.symbol(predicate)}) {{ {code} }}"
        return f"{{ {code} }}"

    def compute(self, mnemonic, operands):
        """An instruction of the table."""
        form = find_form(mnemonic, len(operands))
        targets = operands.pop(0).split("|") if form.results else []
        values = [self.bits(operand) for operand in operands]
        expressions = [e.replace("LINE", str(self.line))
                       for e in form.expressions]
        if form.is_pair:
            code = "uint32_t r = 0;"
            for shift in (0, 16):
                half = form.operands.format(
                    *(f"In<uint32_t>({value}) >> {shift}" for value in values))
                result = f"Out({form.results[0]}({expressions[0]}))"
                code += f" {{ {half}r |= uint32_t{{{result}}} << {shift}; }}"
            return code + self.set(targets[0], "r")
        code = form.operands.format(*values)
        if not targets:
            return f"{code}{expressions[0]};"
        c = form.results[0]
        code += (f"{'volatile' if form.rounds else 'const'} {c} r = "
                 f"{c}({expressions[0]}); ")
        expressions[0] = f"Out<{c}>(r)"
        return code + " ".join(map(self.set, targets, expressions))

    def take(self, *names):
        """Removes the first modifier that is one of the names; '' if none."""
        for modifier in self.mods:
            if modifier in names:
                self.mods.remove(modifier)
                return modifier
        return ""

    def move_parts(self, target, source):
        """mov between a register and the parts that it consists of."""
        size = bytes_of(self.take(*TYPES))
        parts = split((target + source).partition("{")[2].partition("}")[0])
        bits = 8 * size // len(parts)
        c, part = f"uint{8 * size}_t", f"uint{bits}_t"
        if source.startswith("{"):
            values = [f"{c}{{{self.value(p, part)}}} << {bits * i}"
                      for i, p in enumerate(parts)]
            return self.set(target, " | ".join(values))
        code = f"const {c} a = {self.value(source, c)};"
        return code + "".join(self.set(p, f"{part}(a >> {bits * i})")
                              for i, p in enumerate(parts))

    # Memory.

    def order(self):
        """An access's memory order, or '' if it is weak."""
        order = self.take(*ORDERS)
        self.take("weak")
        self.take("cta", "cluster", "gpu", "sys")
        return order

    def place(self, operand, size, access):
        """The C++ of where `[base + offset]` is on the host."""
        match = re.fullmatch(r"\[\s*([\w$%.]+)(?:\s*\+\s*(-?\w+))?\s*\]",
                             operand)
        if not match:
            raise Error(f"address {operand}")
        address = match[1] + "ull" if match[1].isdigit() else \
            f"uint64_t{{{self.symbol(match[1])}}}"
        address = f"{address} + ({match[2] or 0})"
        space = SPACES.get(self.take(*SPACES), "Generic")
        used, self.used_bytes = self.used_bytes, "~0u"
        if space == "Local":
            return f"t.Local<{size}>({address}, {self.line})"
        return f"t.{space}({address}, {size}, {access}, {self.line}, {used})"

    def vector(self, operand):
        """The parts of ld's or st's operand, and the C++ type of each."""
        names = split(operand.strip("{}"))
        if len(names) != int((self.take("v2", "v4", "v8") or "v1")[1:]):
            raise Error("vector of another length")
        type_ = self.take(*TYPES)
        c = TYPES[type_]
        return names, f"uint{8 * bytes_of(type_)}_t" if c in FLOATS else c

    def op_ld(self, target, source):
        order = self.order()
        names, c = self.vector(target)
        place = self.place(source, f"sizeof({c}) * {len(names)}",
                           "kStrongRead" if order else "kRead")
        code = f"const uint8_t* const m = {place};" + "".join(
            self.set(n, f"Get<{c}>(m, {i})") for i, n in enumerate(names))
        if order:
            code = f"t.Yield(); {code} t.Acquire(m);"
        return code + (" t.Fence();" if order == "acquire" else "")

    op_ldu = op_ld

    def op_st(self, target, source):
        order = self.order()
        names, c = self.vector(source)
        place = self.place(target, f"sizeof({c}) * {len(names)}",
                           "kAtomic" if order else "kWrite")
        code = "t.Fence(); " if order == "release" else ""
        code += f"uint8_t* const m = {place};" + "".join(
            f"Put<{c}>(m, {i}, {self.value(n, c)});"
            for i, n in enumerate(names))
        return code + (" t.Release(m, /*joins=*/false);" if order else "")

    def op_red(self, target, *operands):
        return self.op_atom("_", target, *operands)

    def op_atom(self, result, target, *operands):
        order = self.order()
        new = ATOMICS[self.take(*ATOMICS)]
        c = TYPES[self.take(*TYPES)]
        place = self.place(target, f"sizeof({c})", "kAtomic")
        fence = "t.Fence(); "
        return "".join([
            "t.YieldSometimes(); ",
            fence if order in ("release", "acq_rel") else "",
            *(f"const {c} {name} = {self.value(o, c)}; "
              for name, o in zip("ab", operands)),
            f"uint8_t* const m = {place}; const {c} old = Get<{c}>(m, 0); ",
            f"t.Acquire(m); Put<{c}>(m, 0, {c}({new})); ",
            "t.Release(m, /*joins=*/true); ",
            fence if order in ("acquire", "acq_rel") else "",
            self.set(result, f"Out<{c}>(old)")])

    def nothing(self, *_):
        self.mods.clear()
        return ""

    op_prefetch = op_prefetchu = op_discard = op_applypriority = nothing
    op_griddepcontrol = op_setmaxnreg = nothing

    # Control.

    def op_bra(self, label):
        self.take("uni")
        return f"goto {name_of(label)};"

    def op_brx(self, index, table):
        self.take("idx")
        texts = [text for _, text in self.function.statements]
        labels = split(texts[texts.index(table + ":") + 1].removeprefix(
            ".branchtargets"))
        cases = " ".join(f"case {i}: goto {name_of(label)};"
                         for i, label in enumerate(labels))
        fail = f't.Fail({self.line}, "branch beyond its table");'
        return (f"switch ({self.value(index, 'uint32_t')}) {{ {cases} "
                f"default: {fail} }}")

    def op_call(self, *operands):
        self.take("uni")
        lists = [self.symbol(name) for o in operands if o.startswith("(")
                 for name in split(o[1:-1])]
        name = next(o for o in operands if not o.startswith("("))
        if name == "__assertfail":
            return f"t.FailAssertion({self.line}, {', '.join(lists[-5:-2])});"
        if name not in self.functions:
            raise Error(f"call of {name}, which this file does not define")
        places = "".join(f"(uint8_t*){place}, " for place in lists)
        return (f"uint8_t* const places[] = {{{places}nullptr}}; "
                f"{name_of(name)}(t, places);")

    # Declarations, and the whole function.

    def declare(self, text):
        if match := re.match(r"\.reg\s*\.(\w+)\s+(.*)$", text):
            # Registers of 8 bits hold 16.
            c = "bool" if match[1] == "pred" else \
                f"uint{max(16, 8 * bytes_of(match[1]))}_t"
            names = []
            for name in split(match[2]):
                many = re.fullmatch(r"(.+)<(\d+)>", name)
                names += [f"{many[1]}{i}" for i in range(int(many[2]))] \
                    if many else [name]
            self.names.update(names)
            zeros = ", ".join(f"{name_of(n)} = 0" for n in names)
            self.out.append(f"{c} {zeros};")
        elif match := re.match(r"\.(local|param|shared)\b(.*)$", text):
            found = variable(match[2].strip())
            if match[1] == "shared":
                return
            array = name_of(found.name, "V_")
            self.out.append(f"alignas({max(found.align, 16)}) uint8_t {array}"
                            f"[{max(found.size, 1)}];")
            if match[1] == "local":
                self.out.append(f"std::memset({array}, 0xcd, sizeof({array}));")
            self.declare_address(found.name, f"Address({array})")
        elif match := re.match(r'\.pragma\s+"used_bytes_mask\s+(\w+)"', text):
            self.used_bytes = match[1].rstrip("U") + "u"
        elif not text.startswith((".pragma", ".branchtargets")):
            raise Error("unknown directive")

    def statement(self, line, text):
        if text in "{}":
            self.out.append(text)
        elif text.endswith(":"):
            self.out.append(f"{name_of(text[:-1])}:;")
        elif text.startswith("."):
            self.declare(text)
        else:
            self.out.append(self.instruction(line, text))

    def translate(self):
        for line, text in self.function.statements:
            try:
                self.statement(line, text)
            except Error as error:
                raise Error(f"line {line}: {error}: {text}") from None
            except (IndexError, KeyError, ValueError, TypeError) as error:
                raise Error(f"line {line}: unknown form ({error!r}): {text}") \
                    from None
        return "\n".join(self.out + ["}"])


def translate_entry(module, entry):
    """The C++ of an entry with all that it calls, and of its registration.

    Each entry has functions of its own, since it has its own shared memory.
    """
    functions = module.reached(entry)
    words = set().union(*(f.words for f in functions.values()))
    places = [v for n, (space, v) in module.variables.items()
              if space == "shared" and n in words]
    for f in functions.values():
        places += [variable(text.removeprefix(".shared"))
                   for _, text in f.statements if text.startswith(".shared")]
    shared, top = {}, 0
    for v in places:
        shared[v.name] = top = round_up(top, max(v.align, 16))
        top += v.size
    top = round_up(top, 16)
    shared.update((n, top) for n, (space, _) in module.variables.items()
                  if space == "dynamic")
    name = name_of(entry.name)
    has_fence = "true" if words & FENCES else "false"
    code = [f"namespace E_{name} {{",
            *(f"static void {name_of(f)}(Thread&, uint8_t* const*);"
              for f in functions),
            *(Translator(module, f, functions, shared).translate()
              for f in functions.values()), "}"]
    sizes = ", ".join(str(p.size) for p in entry.params)
    return "\n".join(code), (
        f'{{"{entry.name}", E_{name}::{name}, {{{sizes}}}, {top}, '
        f"{entry.max_threads}, {has_fence}, &kLines}}")


def round_up(n, unit):
    return (n + unit - 1) // unit * unit


def translate_variables(module):
    """The C++ of the module's variables in global and constant memory."""
    used = set().union(*(f.words for f in module.functions.values()))
    for name, (space, v) in module.variables.items():
        if space not in ("global", "const") or name not in used:
            continue
        values = []
        for value in v.values:
            match = re.fullmatch(r"(?:0[fFdD]([0-9a-fA-F]+)|"
                                 r"(-?0x[0-9a-fA-F]+|-?\d+)U?)", value)
            if not match:
                raise Error(f"variable {name}: initial value {value}")
            values.append(f"0x{match[1]}" if match[1] else match[2])
        c, size = f"uint{8 * bytes_of(v.type)}_t", bytes_of(v.type)
        array = name_of(name, "V_")
        values = ", ".join(f"{c}({value}ull)" for value in values)
        yield (f"alignas({max(v.align, 16)}) {c} {array}"
               f"[{max(v.size // size, 1)}] = {{{values}}};\n"
               f"static const VariableRegistrar {name_of(name, 'R_')}"
               f"({array}, sizeof({array}));")


def translate(text, prefix):
    """The C++ file of a module."""
    module = Module(text)
    entries = [translate_entry(module, f) for f in module.functions.values()
               if f.is_entry]
    lines = ", ".join(f'{{{line}, "{file}", {source}}}'
                      for line, file, source in module.locations)
    return "\n".join([
        '#include "tests/ptx/instructions.h"',
        '#include "tests/ptx/thread.h"',
        f"namespace ptx {{ namespace {prefix} {{",
        *translate_variables(module),
        f"static const std::vector<SourceLine> kLines = {{{lines}}};",
        *(code for code, _ in entries),
        "static const KernelRegistrar registrar({",
        ",\n".join(row for _, row in entries),
        "});", "} }", ""])


def main(source, out):
    with open(source) as file:
        text = file.read()
    try:
        code = translate(text, "P_" + re.sub(r"\W", "_", out))
    except Error as error:
        sys.exit(f"{source}: {error}")
    with open(out, "w") as file:
        file.write(code)


if __name__ == "__main__":
    main(*sys.argv[1:])
