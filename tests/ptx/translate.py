"""Translates PTX, as nvcc emits it, to C++: a function for each PTX function.

    translate.py KERNELS.ptx OUT.cc...

The C++ calls tests/ptx/thread.h, and registers each entry by its mangled name.
With several OUT files the entries are shared out among them. What is not known
is an error that names the instruction and its line.
"""

import bisect
import collections
import re
import sys

SIZES = {
    "pred": 1, "b8": 1, "u8": 1, "s8": 1, "b16": 2, "u16": 2, "s16": 2,
    "f16": 2, "bf16": 2, "b32": 4, "u32": 4, "s32": 4, "f32": 4, "f16x2": 4,
    "bf16x2": 4, "b64": 8, "u64": 8, "s64": 8, "f64": 8,
}
UNSIGNED = {1: "uint8_t", 2: "uint16_t", 4: "uint32_t", 8: "uint64_t"}
HALVES = ("f16", "bf16")
FLOATS = ("f32", "f64") + HALVES
ROUNDINGS = {"rn": "FE_TONEAREST", "rz": "FE_TOWARDZERO",
             "rm": "FE_DOWNWARD", "rp": "FE_UPWARD"}
INTEGRAL = {"rni": "std::nearbyint", "rzi": "std::trunc",
            "rmi": "std::floor", "rpi": "std::ceil"}
COMPARISONS = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">",
               "ge": ">=", "lo": "<", "ls": "<=", "hi": ">", "hs": ">="}
SPACES = {"global": "Global", "shared": "Shared", "local": "Local",
          "param": "Local", "const": "Local"}
# Hints, which change no result.
HINTS = {"ca", "cg", "cs", "lu", "cv", "wb", "wt", "nc", "uni", "aligned",
         "L1::no_allocate", "L1::evict_last", "L1::evict_first", "L2::128B",
         "L2::256B", "L2::64B", "gpu", "sys", "cluster"}
SPECIAL = {"WARP_SZ": "32u", "%laneid": "t.lane", "%warpid": "t.index / 32",
           "%nwarpid": "(t.shape->num_threads + 31) / 32",
           "%lanemask_eq": "(1u << t.lane)",
           "%lanemask_lt": "((1u << t.lane) - 1)",
           "%lanemask_le": "((2u << t.lane) - 1)",
           "%lanemask_gt": "~((2u << t.lane) - 1)",
           "%lanemask_ge": "~((1u << t.lane) - 1)",
           "%smid": "0u", "%nsmid": "1u", "%gridid": "0u",
           "%clock": "t.Clock()", "%clock64": "t.Clock()",
           "%globaltimer": "t.Clock()",
           "%dynamic_smem_size": "t.shape->dynamic_shared"}
for i, axis in enumerate("xyz"):
    SPECIAL["%tid." + axis] = f"t.tid[{i}]"
    SPECIAL["%ntid." + axis] = f"t.shape->ntid[{i}]"
    SPECIAL["%ctaid." + axis] = f"t.shape->ctaid[{i}]"
    SPECIAL["%nctaid." + axis] = f"t.shape->nctaid[{i}]"


class Error(Exception):
    """What cannot be translated."""


def is_signed(type_):
    return type_[0] == "s"


def ctype(type_):
    if type_ == "pred":
        return "bool"
    if type_ in ("f32", "f64"):
        return "float" if type_ == "f32" else "double"
    unsigned = UNSIGNED[SIZES[type_]]
    return unsigned[1:] if is_signed(type_) else unsigned


def utype(type_):
    return UNSIGNED[SIZES[type_]]


def name_of(symbol):
    return "N_" + re.sub(r"\W", "_", symbol.replace("$", "_S").replace("%", "R"))


def split(text, separator=","):
    """Parts of a list, whose brackets hold separators of their own."""
    parts, depth, part = [], 0, ""
    for c in text:
        depth += (c in "[{(") - (c in ")}]")
        if c == separator and depth == 0:
            parts.append(part.strip())
            part = ""
        else:
            part += c
    return parts + [part.strip()] if part.strip() else parts


Variable = collections.namedtuple("Variable", "name type size align values")


def variable(text):
    """A declaration such as `.align 8 .b8 x[16] = {1, 2}`."""
    declared, _, values = text.partition("=")
    match = re.search(r"\.(\w+)\s+([\w$%]+)\s*((?:\[\d*\])*)\s*$", declared)
    if not match or match[1] not in SIZES:
        raise Error(f"declaration of unknown form: {text[:80]}")
    values = split(values.strip().strip("{}")) if values else []
    count = 1
    for extent in re.findall(r"\[(\d*)\]", match[3]):
        count *= int(extent) if extent else len(values)
    align = re.search(r"\.align\s+(\d+)", declared)
    size = SIZES[match[1]]
    return Variable(match[2], match[1], size * count,
                    int(align[1]) if align else size, values)


class Module:
    """A PTX file: its functions, variables, and lines of source."""

    def __init__(self, text):
        text = re.sub(r"/\*.*?\*/", lambda m: "\n" * m[0].count("\n"), text,
                      flags=re.S)
        text = re.sub(r"//[^\n]*", "", text)
        self.files = {int(n): path.split("/")[-1] for n, path in
                      re.findall(r'^\s*\.file\s+(\d+)\s+"([^"]*)"', text, re.M)}
        self.starts = [0] + [m.end() for m in re.finditer("\n", text)]
        # (line of the PTX, file, line of the source), in order.
        self.locations = [
            (self.line_at(m.start()), int(m[1]), int(m[2]))
            for m in re.finditer(r"^[ \t]*\.loc[ \t]+(\d+)[ \t]+(\d+)[^\n]*",
                                 text, re.M)]
        blank = lambda m: re.sub(r"[^\n]", " ", m[0])
        text = re.sub(r"\.section[^{]*\{.*?\n\s*\}", blank, text, flags=re.S)
        self.text = re.sub(
            r"^[ \t]*\.(loc|file|version|target|address_size)\b[^\n]*",
            blank, text, flags=re.M)
        self.functions = {}
        self.variables = {}  # Name to (space, Variable), of the module.
        self.parse()

    def line_at(self, position):
        return bisect.bisect_right(self.starts, position)

    def parse(self):
        kinds = re.compile(r"(?:\.(?:visible|weak|extern|common)\s+)*"
                           r"\.(entry|func|global|const|shared)\b")
        position = 0
        while match := kinds.search(self.text, position):
            if match[1] in ("entry", "func"):
                position = self.parse_function(match)
                continue
            end = self.text.index(";", match.end())
            found = variable(" ".join(self.text[match.end():end].split()))
            extern = ".extern" in match[0]
            self.variables[found.name] = (
                "dynamic" if extern and match[1] == "shared" else match[1],
                found)
            position = end + 1

    def parse_function(self, match):
        begin = depth = 0
        position = match.end()
        while depth or self.text[position] not in "{;":
            depth += {"(": 1, ")": -1}.get(self.text[position], 0)
            position += 1
        head = " ".join(self.text[match.end():position].split())
        if self.text[position] == ";":
            return position + 1
        begin = position + 1
        while True:
            depth += {"{": 1, "}": -1}.get(self.text[position], 0)
            position += 1
            if depth == 0:
                break
        function = Function(self, match[1] == "entry", head, begin,
                            position - 1)
        self.functions[function.name] = function
        return position


class Function:
    """A PTX function, and what its body mentions."""

    def __init__(self, module, is_entry, head, begin, end):
        lists = re.fullmatch(
            r"(?:\((?P<ret>.*?)\)\s*)?(?P<name>[\w$%]+)\s*"
            r"(?:\((?P<params>.*?)\))?(?P<rest>.*)", head)
        self.name = lists["name"]
        self.is_entry = is_entry
        self.result = [variable(p) for p in split(lists["ret"] or "")]
        self.params = [variable(p) for p in split(lists["params"] or "")]
        self.line = module.line_at(begin)
        limit = re.search(r"\.(?:maxntid|reqntid)\s+(\d+)(?:\s*,\s*(\d+))?"
                          r"(?:\s*,\s*(\d+))?", lists["rest"])
        self.max_threads = 1024
        if limit:
            self.max_threads = 1
            for extent in limit.groups("1"):
                self.max_threads *= int(extent)
        self.statements = list(self.split_body(module, begin, end))
        text = module.text[begin:end]
        self.words = set(re.findall(r"[\w$]+", text))
        self.has_fence = bool(re.search(
            r"\b(membar|fence)\.|\.(acquire|release|acq_rel)\b", text))
        self.shared = [variable(s) for _, s in self.statements
                       if re.match(r"\.shared\b", s)]

    @staticmethod
    def split_body(module, begin, end):
        """Pairs of line and statement; a scope's braces are statements."""
        start, depth, text = begin, 0, module.text
        for i in range(begin, end):
            c = text[i]
            part = None
            if c == "{":
                if depth == 0 and not text[start:i].strip():
                    part = "{"
                else:
                    depth += 1
            elif c == "}":
                if depth == 0:
                    part = "}"
                else:
                    depth -= 1
            elif c == ";" and depth == 0:
                part = " ".join(text[start:i].split())
            elif c == ":" and depth == 0 and text[i - 1:i + 2].count(":") == 1:
                if re.fullmatch(r"\s*[\w$]+\s*", text[start:i]):
                    rest = text[i + 1:i + 40].lstrip()
                    if not re.match(r"\.(branchtargets|callprototype)", rest):
                        part = text[start:i].strip() + ":"
            if part is not None:
                skipped = len(text[start:i]) - len(text[start:i].lstrip())
                line = module.line_at(min(start + skipped, i))
                if part:
                    yield line, part
                start = i + 1


class Translator:
    """Makes the C++ of one function as one entry calls it."""

    def __init__(self, module, function, shared, callees):
        self.module = module
        self.function = function
        self.shared = shared  # Name to offset in the entry's shared memory.
        self.callees = callees  # Name to the C++ name.
        self.scopes = [{}]  # Registers' types, and addresses of symbols.
        self.tables = {}
        self.out = []
        self.arrays = 0
        self.used_bytes = "~0u"
        for name, (space, _) in module.variables.items():
            if space in ("shared", "dynamic"):
                if name in shared:
                    self.scopes[0][name] = ("shared", f"{shared[name]}u")
            else:
                self.scopes[0][name] = (space, f"Address({name_of(name)})")

    # Operands.

    def find(self, name):
        for scope in reversed(self.scopes):
            if name in scope:
                return scope[name]
        return None

    def value(self, operand, type_):
        """A C++ expression of an operand, read as a type."""
        size = SIZES[type_]
        if operand.startswith("!") and type_ == "pred":
            return f"(!{self.value(operand[1:].strip(), type_)})"
        if match := re.fullmatch(r"0[fF]([0-9a-fA-F]{8})|"
                                 r"0[dD]([0-9a-fA-F]{16})", operand):
            bits = f"0x{match[1]}u" if match[1] else f"0x{match[2]}ull"
            return self.from_bits(bits, type_)
        if re.fullmatch(r"-?(0x[0-9a-fA-F]+|\d+)U?", operand):
            number = int(operand.rstrip("U"), 0) % (1 << 64)
            if type_ == "pred":
                return "true" if number else "false"
            return self.from_bits(
                f"({UNSIGNED[size]})0x{number % (1 << 8 * size):x}ull", type_)
        if operand in SPECIAL:
            return f"(({ctype(type_)})({SPECIAL[operand]}))"
        found = self.find(operand)
        if found and isinstance(found, str):
            if (found == "pred") != (type_ == "pred"):
                raise Error(f"operand {operand} is .{found}, not .{type_}")
            return self.from_bits(name_of(operand), type_, SIZES[found])
        if match := re.fullmatch(r"([\w$%]+)(?:\s*\+\s*(-?\d+))?", operand):
            found = self.find(match[1])
            if isinstance(found, tuple):
                return f"(({ctype(type_)})({found[1]} + ({match[2] or 0})))"
        raise Error(f"operand {operand}")

    @staticmethod
    def from_bits(bits, type_, size=0):
        if type_ == "pred":
            return bits
        if type_ in ("f32", "f64"):
            return f"{type_.upper()}({bits})"
        if type_ in HALVES:
            return f"From{type_.title()}({bits})"
        return bits if utype(type_) == ctype(type_) == UNSIGNED.get(size) \
            else f"(({ctype(type_)}){bits})"

    def set(self, register, value, type_):
        """A C++ statement that stores a value of a type in a register."""
        register = register.strip()
        if register == "_":
            return f"(void)({value});"
        found = self.find(register)
        if not isinstance(found, str):
            raise Error(f"destination {register}")
        name = name_of(register)
        if type_ == "pred":
            return f"{name} = {value};"
        if type_ in ("f32", "f64"):
            return f"{name} = Bits({value});"
        if type_ in HALVES:
            return f"{name} = To{type_.title()}({value});"
        if is_signed(type_) and SIZES[type_] < SIZES[found]:
            wide = UNSIGNED[SIZES[found]]
            return f"{name} = ({wide})({wide[1:]})({ctype(type_)})({value});"
        return f"{name} = ({UNSIGNED[SIZES[found]]})({utype(type_)})({value});"

    def address(self, operand):
        """The C++ expression of `[base + offset]`, and its space if known."""
        match = re.fullmatch(r"\[\s*([\w$%.]+)(?:\s*\+\s*(-?\w+))?\s*\]",
                             operand)
        if not match:
            raise Error(f"address {operand}")
        offset = int(match[2] or "0", 0)
        found = self.find(match[1])
        if isinstance(found, tuple):
            return f"{found[1]} + ({offset})", found[0]
        if isinstance(found, str):
            return f"(uint64_t){name_of(match[1])} + ({offset})", None
        return f"{int(match[1], 0) + offset}ull", None

    # Instructions.

    def instruction(self, line, text):
        match = re.fullmatch(r"(?:@(!?)([\w%$]+)\s+)?([a-z]\w*)((?:\.[\w:]+)*)"
                             r"\s*(.*)", text)
        if not match:
            raise Error("statement of unknown form")
        negated, predicate, self.op, modifiers, rest = match.groups()
        self.line = line
        self.mods = [m for m in re.findall(r"\.([\w:]+)", modifiers)
                     if m not in HINTS]
        self.hints = set(re.findall(r"\.([\w:]+)", modifiers)) & HINTS
        self.ops = split(rest)
        if self.op in ("and", "or", "not", "xor"):
            method = self.op_logic
        else:
            method = getattr(self, "op_" + self.op, None)
        if method is None:
            raise Error("unknown instruction")
        code = method()
        if self.mods:
            raise Error("unknown modifier ." + " .".join(self.mods))
        if predicate:
            register = self.value(predicate, "pred")
            code = f"if ({negated}{register}) {{ {code} }}"
        return f"{{ {code} }}"

    def take(self, *names):
        """Removes the first modifier that is one of the names; '' if none."""
        for modifier in self.mods:
            if modifier in names:
                self.mods.remove(modifier)
                return modifier
        return ""

    def type(self):
        type_ = self.take(*SIZES)
        if not type_:
            raise Error("instruction without a type")
        return type_

    def args(self, type_, *indices):
        return [self.value(self.ops[i], type_) for i in indices]

    def arithmetic(self, type_, expression, *indices):
        """A float instruction: `expression` of {0}, {1} ... as written."""
        rounding = self.take(*ROUNDINGS)
        ftz, sat, nan = self.take("ftz"), self.take("sat"), self.take("NaN")
        if nan:
            expression = f"NanOr({expression}, {{0}}, {{1}})"
        if type_.endswith("x2"):
            halves = []
            for shift in (0, 16):
                values = [f"From{type_[:-2].title()}((uint16_t)({v} >> {shift}))"
                          for v in self.args("b32", *indices)]
                halves.append(f"(uint32_t)To{type_[:-2].title()}("
                              f"{expression.format(*values)}) << {shift}")
            return self.set(self.ops[0], " | ".join(halves), "b32")
        values = self.args(type_, *indices)
        if ftz and type_ == "f32":
            values = [f"Flush({v})" for v in values]
        c = "float" if type_ in HALVES else ctype(type_)
        names = [f"x{i}_" for i in range(len(values))]
        result = expression.format(*names)
        if sat:
            result = f"Saturate({result})"
        if ftz and type_ == "f32":
            result = f"Flush({result})"
        if rounding in ("", "rn"):
            code = "".join(f"const {c} {n} = {v}; "
                           for n, v in zip(names, values))
            return code + self.set(self.ops[0], result, type_)
        # Volatile: the compiler does not know that the rounding changes.
        code = "".join(f"volatile {c} {n} = {v}; "
                       for n, v in zip(names, values))
        return (f"const Rounding rounding_({ROUNDINGS[rounding]}); {code}"
                f"volatile {c} result_ = {result}; "
                + self.set(self.ops[0], "result_", type_))

    def is_float(self, type_):
        return type_ in FLOATS or type_.endswith("x2")

    def simple(self, floats, integers):
        """Arithmetic with one expression for floats and one for integers."""
        type_ = self.type()
        self.take("lo")
        indices = range(1, len(self.ops))
        if self.is_float(type_):
            if floats is None:
                raise Error("no such instruction on floats")
            return self.arithmetic(type_, floats, *indices)
        if integers is None:
            raise Error("no such instruction on integers")
        return self.set(self.ops[0], integers.format(
            *self.args(type_, *indices), c=ctype(type_), u=utype(type_)), type_)

    def carry(self, sign, with_carry):
        type_ = self.type()
        unsigned = "u" + type_[1:]
        x, y = self.args(unsigned, 1, 2)
        c = "carry" if with_carry else "false"
        out = "carry" if self.take("cc") else "none_"
        return (f"bool none_ = {c}; (void)none_; {utype(type_)} x_ = {x}, "
                f"y_ = {y}; const {utype(type_)} z_ = "
                f"{'Add' if sign > 0 else 'Subtract'}WithCarry(x_, y_, {c}, "
                f"&{out}); " + self.set(self.ops[0], "z_", unsigned))

    def op_add(self):
        if "cc" in self.mods:
            return self.carry(1, False)
        if self.take("sat") and self.mods == ["s32"]:
            self.mods.clear()
            x, y = self.args("s32", 1, 2)
            return self.set(self.ops[0],
                            f"SaturateInt<int32_t>((int64_t){x} + {y})", "s32")
        return self.simple("{0} + {1}", "({u})({u}){0} + ({u}){1}")

    def op_sub(self):
        if "cc" in self.mods:
            return self.carry(-1, False)
        return self.simple("{0} - {1}", "({u})({u}){0} - ({u}){1}")

    def op_addc(self):
        return self.carry(1, True)

    def op_subc(self):
        return self.carry(-1, True)

    def product(self, type_, x, y):
        """A product of integers, and the type that it has."""
        width = self.take("wide", "hi", "lo")
        if width == "wide":
            wide = type_[0] + str(SIZES[type_] * 16)
            return f"({ctype(wide)}){x} * ({ctype(wide)}){y}", wide
        if width == "hi":
            return f"HighProduct<{ctype(type_)}>({x}, {y})", type_
        wide = "uint32_t" if SIZES[type_] == 2 else utype(type_)
        return f"({wide}){x} * ({wide}){y}", type_

    def op_mul(self):
        type_ = self.type()
        if self.is_float(type_):
            return self.arithmetic(type_, "{0} * {1}", 1, 2)
        value, type_ = self.product(type_, *self.args(type_, 1, 2))
        return self.set(self.ops[0], value, type_)

    def op_mul24(self):
        type_ = self.type()
        self.take("lo")
        x, y = self.args(type_, 1, 2)
        return self.set(self.ops[0], f"Low24({x}) * Low24({y})", type_)

    def op_mad(self):
        type_ = self.type()
        if self.is_float(type_):
            return self.arithmetic(type_, "std::fma({0}, {1}, {2})", 1, 2, 3)
        value, wide = self.product(type_, *self.args(type_, 1, 2))
        u = utype(wide)
        return self.set(self.ops[0], f"({u})({value}) + "
                        f"({u}){self.value(self.ops[3], wide)}", wide)

    def op_fma(self):
        type_ = self.type()
        relu = self.take("relu")
        fma = "std::fma({0}, {1}, {2})"
        if type_.startswith(HALVES):
            fma = "(float)std::fma((double){0}, (double){1}, (double){2})"
        return self.arithmetic(type_, f"Relu({fma})" if relu else fma, 1, 2, 3)

    def op_div(self):
        self.take("approx", "full")
        return self.simple("{0} / {1}", "Quotient<{c}>({0}, {1})")

    def op_rem(self):
        return self.simple(None, "Remainder<{c}>({0}, {1})")

    def op_min(self):
        return self.simple("Min({0}, {1})", "std::min<{c}>({0}, {1})")

    def op_max(self):
        return self.simple("Max({0}, {1})", "std::max<{c}>({0}, {1})")

    def sign_bit(self, expression, integers):
        """neg and abs, which change the sign of a float's bits alone."""
        type_ = self.type()
        ftz = self.take("ftz")
        if ftz and type_ == "f32":
            value = f"Bits(Flush({self.value(self.ops[1], type_)}))"
        elif self.is_float(type_):
            value = self.value(self.ops[1], f"b{8 * SIZES[type_]}")
        else:
            return self.set(self.ops[0], integers.format(
                self.value(self.ops[1], type_), u=utype(type_)), type_)
        sign = {"f16x2": "0x80008000u", "bf16x2": "0x80008000u"}.get(
            type_, f"(({utype(type_)})1 << {8 * SIZES[type_] - 1})")
        return self.set(self.ops[0], expression.format(value, sign),
                        f"b{8 * SIZES[type_]}")

    def op_neg(self):
        return self.sign_bit("{0} ^ {1}", "({u})0 - ({u}){0}")

    def op_abs(self):
        return self.sign_bit(
            "{0} & ~{1}", "{0} < 0 ? ({u})0 - ({u}){0} : ({u}){0}")

    def op_copysign(self):
        type_ = self.type()
        sign, x = self.args(f"b{8 * SIZES[type_]}", 1, 2)
        mask = f"(({utype(type_)})1 << {8 * SIZES[type_] - 1})"
        return self.set(self.ops[0], f"({sign} & {mask}) | ({x} & ~{mask})",
                        f"b{8 * SIZES[type_]}")

    def unary(self, name):
        type_ = self.type()
        self.take("approx")
        if "ftz" in self.mods and type_ == "f64":
            self.take("ftz")
            value = self.value(self.ops[1], type_)
            return self.set(self.ops[0], "UpperHalf(" + name.format(value) +
                            ")", type_)
        return self.arithmetic(type_, name, 1)

    def op_rcp(self):
        return self.unary("1 / {0}")

    def op_sqrt(self):
        return self.unary("std::sqrt({0})")

    def op_rsqrt(self):
        return self.unary("1 / std::sqrt({0})")

    def op_ex2(self):
        return self.unary("std::exp2({0})")

    def op_lg2(self):
        return self.unary("std::log2({0})")

    def op_sin(self):
        return self.unary("std::sin({0})")

    def op_cos(self):
        return self.unary("std::cos({0})")

    def op_tanh(self):
        return self.unary("std::tanh({0})")

    def op_testp(self):
        test = self.take("finite", "infinite", "number", "notanumber", "normal",
                         "subnormal")
        x = self.value(self.ops[1], self.type())
        return self.set(self.ops[0], {
            "finite": f"std::isfinite({x})", "infinite": f"std::isinf({x})",
            "number": f"!std::isnan({x})", "notanumber": f"std::isnan({x})",
            "normal": f"std::isnormal({x})",
            "subnormal": f"std::fpclassify({x}) == FP_SUBNORMAL"}[test], "pred")

    def op_logic(self):
        type_ = self.type()
        if self.op == "not":
            x = self.value(self.ops[1], type_)
            return self.set(self.ops[0], f"{'!' if type_ == 'pred' else '~'}{x}",
                            type_)
        x, y = self.args(type_, 1, 2)
        sign = {"and": "&", "or": "|", "xor": "^"}[self.op]
        return self.set(self.ops[0], f"{x} {sign} {y}", type_)

    def op_cnot(self):
        return self.simple(None, "{0} == 0")

    def shift(self, function):
        type_ = self.type()
        x, n = self.value(self.ops[1], type_), self.value(self.ops[2], "u32")
        return self.set(self.ops[0], f"{function}<{ctype(type_)}>({x}, {n})",
                        type_)

    def op_shl(self):
        return self.shift("ShiftLeft")

    def op_shr(self):
        return self.shift("ShiftRight")

    def op_shf(self):
        side, mode = self.take("l", "r"), self.take("wrap", "clamp")
        self.type()
        a, b, c = self.args("u32", 1, 2, 3)
        name = "FunnelLeft" if side == "l" else "FunnelRight"
        shift = f"{c} & 31" if mode == "wrap" else f"std::min({c}, 32u)"
        return self.set(self.ops[0], f"{name}({a}, {b}, {shift})", "b32")

    def op_lop3(self):
        type_ = self.type()
        a, b, c = self.args(type_, 1, 2, 3)
        return self.set(self.ops[0], f"Lop3({a}, {b}, {c}, {self.ops[4]})",
                        type_)

    def op_prmt(self):
        mode = self.take("f4e", "b4e", "rc8", "ecl", "ecr", "rc16")
        if mode:
            raise Error("unknown modifier ." + mode)
        self.type()
        a, b, c = self.args("b32", 1, 2, 3)
        return self.set(self.ops[0], f"Permute({a}, {b}, {c})", "b32")

    def op_bfe(self):
        type_ = self.type()
        x = self.value(self.ops[1], type_)
        p, n = self.args("u32", 2, 3)
        return self.set(self.ops[0], f"ExtractBits<{ctype(type_)}>"
                        f"({x}, {p}, {n})", type_)

    def op_bfi(self):
        type_ = self.type()
        x, y = self.args(type_, 1, 2)
        p, n = self.args("u32", 3, 4)
        return self.set(self.ops[0], f"InsertBits({x}, {y}, {p}, {n})", type_)

    def op_bmsk(self):
        mode = self.take("clamp", "wrap")
        self.type()
        p, n = self.args("u32", 1, 2)
        if mode == "wrap":
            p, n = f"({p} & 31)", f"({n} & 31)"
        return self.set(self.ops[0], f"BitMask({p}, {n})", "b32")

    def op_szext(self):
        mode, type_ = self.take("clamp", "wrap"), self.type()
        x, n = self.value(self.ops[1], type_), self.value(self.ops[2], "u32")
        if mode == "wrap":
            n = f"({n} & 31)"
        return self.set(self.ops[0], f"ExtractBits<{ctype(type_)}>"
                        f"({x}, 0, {n})", type_)

    def op_popc(self):
        x = self.value(self.ops[1], self.type())
        return self.set(self.ops[0], f"__builtin_popcountll({x})", "u32")

    def op_clz(self):
        type_ = self.type()
        x = self.value(self.ops[1], type_)
        return self.set(self.ops[0], f"LeadingZeros({x})", "u32")

    def op_brev(self):
        type_ = self.type()
        return self.set(self.ops[0], f"ReverseBits({self.value(self.ops[1], type_)})",
                        type_)

    def op_bfind(self):
        shift, type_ = self.take("shiftamt"), self.type()
        x = self.value(self.ops[1], type_)
        return self.set(self.ops[0], f"FindBit<{ctype(type_)}>"
                        f"({x}, {'true' if shift else 'false'})", "u32")

    def op_fns(self):
        self.type()
        mask, base = self.args("b32", 1, 2)
        return self.set(self.ops[0], f"FindNthSet({mask}, {base}, "
                        f"{self.value(self.ops[3], 's32')})", "b32")

    def op_sad(self):
        type_ = self.type()
        x, y, z = self.args(type_, 1, 2, 3)
        u = utype(type_)
        return self.set(self.ops[0], f"({u}){z} + ({x} < {y} ? ({u}){y} - "
                        f"({u}){x} : ({u}){x} - ({u}){y})", type_)

    def op_dp4a(self):
        a, b = self.type(), self.type()
        x, y = self.value(self.ops[1], a), self.value(self.ops[2], b)
        z = self.value(self.ops[3], b)
        return self.set(self.ops[0],
                        f"Dot4<{ctype(a[0] + '8')}, {ctype(b[0] + '8')}>"
                        f"((uint32_t){x}, (uint32_t){y}, (uint32_t){z})", "b32")

    # Comparisons and choices.

    def comparison(self):
        """The C++ condition of setp and set, and the name of its parts."""
        how = self.take(*COMPARISONS, "equ", "neu", "ltu", "leu", "gtu", "geu",
                        "num", "nan")
        combine = self.take("and", "or", "xor")
        self.take("ftz")
        type_ = self.mods.pop()
        if how in ("lo", "ls", "hi", "hs"):
            type_ = "u" + type_[1:]
        x, y = self.args(type_, len(self.ops) - (3 if combine else 2),
                         len(self.ops) - (2 if combine else 1))
        nan = f"IsNan({x}, {y})"
        if how == "num":
            condition = f"!{nan}"
        elif how == "nan":
            condition = nan
        elif how[:2] in COMPARISONS and len(how) == 3:
            condition = f"({nan} || {x} {COMPARISONS[how[:2]]} {y})"
        elif how == "ne" and type_ in FLOATS:
            condition = f"(!{nan} && {x} != {y})"
        elif how:
            condition = f"({x} {COMPARISONS[how]} {y})"
        else:
            raise Error("comparison of unknown kind")
        if not combine:
            return condition, "{0}"
        sign = {"and": "&", "or": "|", "xor": "^"}[combine]
        return condition, f"({{0}}) {sign} {self.value(self.ops[-1], 'pred')}"

    def op_setp(self):
        condition, combined = self.comparison()
        code = f"const bool is_ = {condition}; "
        first, _, second = self.ops[0].partition("|")
        if second:
            code += f"const bool not_ = {combined.format('!is_')}; "
        code += self.set(first, combined.format("is_"), "pred")
        if second:
            code += " " + self.set(second, "not_", "pred")
        return code

    def op_set(self):
        result = next(m for m in self.mods if m in SIZES)
        source = [m for m in self.mods if m in SIZES][-1]
        self.mods.remove(result)
        self.mods.remove(source)
        self.mods.append(source)
        condition, combined = self.comparison()
        yes = {"f32": "1.0f", "f16": "1.0f", "bf16": "1.0f"}.get(
            result, "0xffffffffu")
        zero = "0.0f" if result in FLOATS else "0u"
        return self.set(self.ops[0], f"({combined.format(condition)}) ? {yes} "
                        f": {zero}", result)

    def op_selp(self):
        type_ = f"b{8 * SIZES[self.type()]}"
        x, y = self.args(type_, 1, 2)
        return self.set(self.ops[0], f"{self.value(self.ops[3], 'pred')} ? {x} "
                        f": {y}", type_)

    def op_slct(self):
        type_, of = f"b{8 * SIZES[self.type()]}", self.type()
        x, y = self.args(type_, 1, 2)
        return self.set(self.ops[0], f"{self.value(self.ops[3], of)} >= 0 ? {x} "
                        f": {y}", type_)

    # Moves and conversions.

    def op_mov(self):
        type_ = self.type()
        if type_ != "pred":
            type_ = f"b{8 * SIZES[type_]}"
        target, source = self.ops
        if source.startswith("{"):
            parts = split(source[1:-1])
            bits = 8 * SIZES[type_] // len(parts)
            values = [f"(({utype(type_)}){self.value(p, f'b{bits}')} << "
                      f"{bits * i})" for i, p in enumerate(parts)]
            return self.set(target, " | ".join(values), type_)
        value = self.value(source, type_)
        if not target.startswith("{"):
            return self.set(target, value, type_)
        parts = split(target[1:-1])
        bits = 8 * SIZES[type_] // len(parts)
        return f"const {utype(type_)} x_ = {value}; " + " ".join(
            self.set(p, f"x_ >> {bits * i}", f"b{bits}")
            for i, p in enumerate(parts))

    def op_cvta(self):
        to = self.take("to")
        space = self.take(*SPACES)
        type_ = self.type()
        value = self.value(self.ops[1], type_)
        if space == "shared":
            value = (f"{value} - t.shared_address" if to else
                     f"t.shared_address + (uint32_t){value}")
        return self.set(self.ops[0], value, type_)

    def op_isspacep(self):
        space = self.take(*SPACES)
        address = self.value(self.ops[1], "u64")
        return self.set(self.ops[0], f"t.Is{SPACES[space]}({address})", "pred")

    def op_cvt(self):
        types = [m for m in self.mods if m in SIZES]
        if len(types) != 2:
            raise Error("conversion of unknown types")
        self.mods = [m for m in self.mods if m not in SIZES]
        target, source = types
        rounding = self.take("rn", "rz", "rm", "rp", *INTEGRAL)
        ftz, sat = self.take("ftz"), self.take("sat")
        relu = self.take("relu")
        if target.endswith("x2"):
            to = f"To{target[:-2].title()}"
            if rounding == "rz":
                to += "TowardZero"
            x, y = self.args(source, 1, 2)
            if relu:
                x, y = f"Relu({x})", f"Relu({y})"
            return self.set(self.ops[0], f"(uint32_t){to}({x}) << 16 | "
                            f"{to}({y})", "b32")
        x = self.value(self.ops[1], source)
        if ftz and source == "f32":
            x = f"Flush({x})"
        if relu:
            x = f"Relu({x})"
        from_float, to_float = source in FLOATS, target in FLOATS
        if from_float and not to_float:
            value = f"ToInteger<{ctype(target)}>({INTEGRAL[rounding]}({x}))"
            return self.set(self.ops[0], value, target)
        if not from_float and not to_float:
            if sat:
                x = f"SaturateInt<{ctype(target)}>({x})"
            return self.set(self.ops[0], x, target)
        if target in HALVES:
            if rounding == "rz":
                return self.set(self.ops[0],
                                f"To{target.title()}TowardZero({x})", "b16")
            return self.set(self.ops[0], f"Saturate({x})" if sat else x, target)
        c = ctype(target)
        if rounding in INTEGRAL:
            x = f"{INTEGRAL[rounding]}({x})"
        elif rounding in ("rz", "rm", "rp"):
            of = "float" if source in HALVES else ctype(source)
            return (f"const Rounding rounding_({ROUNDINGS[rounding]}); "
                    f"volatile {of} x_ = {x}; volatile {c} result_ = ({c})x_; "
                    + self.set(self.ops[0], "result_", target))
        value = f"({c})({x})"
        if sat:
            value = f"Saturate({value})"
        if ftz and target == "f32":
            value = f"Flush({value})"
        return self.set(self.ops[0], value, target)

    # Memory.

    def ordering(self):
        """The words of memory order of an access."""
        strong = self.take("volatile", "relaxed", "acquire", "release",
                           "acq_rel", "mmio", "weak")
        scope = self.take("cta")
        return ("" if strong == "weak" else strong), scope

    def access(self, operand, size, kind):
        space = self.take(*SPACES)
        address, known = self.address(operand)
        space = SPACES.get(space or known, "Generic")
        used, self.used_bytes = self.used_bytes, "~0u"
        if space == "Local":
            return f"t.Local<{size}>({address}, {self.line})"
        return f"t.{space}({address}, {size}, {kind}, {self.line}, {used})"

    def vector(self, operand):
        count = int((self.take("v2", "v4", "v8") or "v1")[1:])
        names = split(operand[1:-1]) if operand.startswith("{") else [operand]
        if len(names) != count:
            raise Error("vector of another length")
        return names

    def op_ld(self):
        strong, _ = self.ordering()
        names, type_ = self.vector(self.ops[0]), self.type()
        place = self.access(self.ops[1], SIZES[type_] * len(names),
                            "kStrongRead" if strong else "kRead")
        if type_ in FLOATS:
            type_ = f"b{8 * SIZES[type_]}"
        code = f"const uint8_t* const m_ = {place}; " + " ".join(
            self.set(n, f"Get<{ctype(type_)}>(m_, {i})", type_)
            for i, n in enumerate(names))
        if not strong:
            return code
        after = " t.Fence();" if strong == "acquire" else ""
        return f"t.Yield(); {code} t.Acquire(m_);{after}"

    op_ldu = op_ld

    def op_st(self):
        strong, _ = self.ordering()
        names, type_ = self.vector(self.ops[1]), self.type()
        place = self.access(self.ops[0], SIZES[type_] * len(names),
                            "kAtomic" if strong else "kWrite")
        if type_ in FLOATS:
            type_ = f"b{8 * SIZES[type_]}"
        code = f"uint8_t* const m_ = {place}; " + " ".join(
            f"Put<{ctype(type_)}>(m_, {i}, {self.value(n, type_)});"
            for i, n in enumerate(names))
        if not strong:
            return code
        before = "t.Fence(); " if strong == "release" else ""
        return f"{before}{code} t.Release(m_, /*joins=*/false);"

    def atomic(self, first):
        order, _ = self.ordering()
        what = self.take("add", "min", "max", "and", "or", "xor", "exch", "cas",
                         "inc", "dec")
        self.take("noftz")
        type_ = self.type()
        place = self.access(self.ops[first], SIZES[type_], "kAtomic")
        values = self.args(type_, *range(first + 1, len(self.ops)))
        x = values[0]
        c = "float" if type_ in HALVES else ctype(type_)
        u = utype(type_)
        new = {"add": f"old_ + {x}" if self.is_float(type_)
                      else f"({c})(({u})old_ + ({u}){x})",
               "min": f"std::min<{c}>(old_, {x})",
               "max": f"std::max<{c}>(old_, {x})",
               "and": f"old_ & {x}", "or": f"old_ | {x}", "xor": f"old_ ^ {x}",
               "exch": x, "cas": f"old_ == {x} ? {values[-1]} : old_",
               "inc": f"old_ >= {x} ? 0 : old_ + 1",
               "dec": f"old_ == 0 || old_ > {x} ? {x} : old_ - 1"}[what]
        before = "t.Fence(); " if order in ("release", "acq_rel") else ""
        after = " t.Fence();" if order in ("acquire", "acq_rel") else ""
        if type_.endswith("x2"):
            raise Error("atomic of unknown type")
        get = f"Get<{'uint16_t' if type_ in HALVES else c}>(m_, 0)"
        put = f"Put<{c}>(m_, 0, {new});"
        if type_ in HALVES:
            get = f"From{type_.title()}({get})"
            put = f"Put<uint16_t>(m_, 0, To{type_.title()}({new}));"
        code = (f"t.YieldSometimes(); {before}uint8_t* const m_ = {place}; "
                f"const {c} old_ = {get}; t.Acquire(m_); {put} "
                f"t.Release(m_, /*joins=*/true);{after}")
        if first == 1:
            code += " " + self.set(self.ops[0], "old_", type_)
        return code

    def op_atom(self):
        return self.atomic(1)

    def op_red(self):
        return self.atomic(0)

    def op_membar(self):
        scope = self.take("cta", "gl")
        return "" if scope == "cta" else "t.Fence();"

    def op_fence(self):
        self.take("sc", "acq_rel", "acquire", "release", "proxy")
        self.take("async", "alias", "mbarrier_init")
        return "" if self.take("cta") else "t.Fence();"

    def nothing(self):
        self.mods.clear()
        return ""

    op_prefetch = op_prefetchu = op_discard = op_applypriority = nothing
    op_griddepcontrol = op_setmaxnreg = nothing

    def op_nanosleep(self):
        self.type()
        return "t.Yield();"

    # Barriers, and what the threads of a warp do together.

    def op_bar(self):
        if self.take("warp"):
            self.take("sync")
            return (f"t.WarpSync({self.value(self.ops[0], 'u32')}, "
                    f"{self.line});")
        if "cluster" in self.hints:
            raise Error("barrier of a cluster")
        self.take("cta")
        what = self.take("sync", "arrive", "red")
        result = what == "red"
        number = self.value(self.ops[result], "u32")
        count = "0u"
        if len(self.ops) > 1 + 2 * result:
            count = self.value(self.ops[1 + result], "u32")
        if what == "arrive":
            return f"t.Arrive({number}, {count}, {self.line});"
        if not result:
            return f"t.Barrier({number}, {count}, false, {self.line});"
        how = self.take("popc", "and", "or")
        type_ = self.type()
        code = (f"const uint32_t n_ = t.Barrier({number}, {count}, "
                f"{self.value(self.ops[-1], 'pred')}, {self.line}); ")
        return code + self.set(self.ops[0], {
            "popc": "n_", "or": "n_ > 0", "and": "n_ == t.BarrierThreads()"}[how],
            type_)

    op_barrier = op_bar

    def op_shfl(self):
        self.take("sync")
        how = self.take("up", "down", "bfly", "idx")
        self.type()
        target, _, valid = self.ops[0].partition("|")
        value, b, c, mask = self.args("b32", 1, 2, 3, 4)
        code = (f"bool valid_; const uint32_t x_ = t.Shuffle("
                f"WarpOperation::k{how.title()}, {value}, {b}, {c}, {mask}, "
                f"&valid_, {self.line}); ") + self.set(target, "x_", "b32")
        return code + (" " + self.set(valid, "valid_", "pred") if valid else "")

    def warp_operation(self, operation, value, mask, as_type, type_):
        return self.set(self.ops[0], f"({as_type})t.Warp(WarpOperation::"
                        f"k{operation}, {value}, {mask}, {self.line})", type_)

    def op_vote(self):
        self.take("sync")
        how = self.take("all", "any", "uni", "ballot")
        type_ = self.type()
        return self.warp_operation(
            how.title(), self.value(self.ops[1], "pred"),
            self.value(self.ops[2], "u32"), ctype(type_), type_)

    def op_match(self):
        self.take("sync")
        how = self.take("any", "all")
        type_ = self.type()
        target, _, same = self.ops[0].partition("|")
        self.ops[0] = target
        code = self.warp_operation(
            "Match" + how.title(), self.value(self.ops[1], "u" + type_[1:]),
            self.value(self.ops[2], "u32"), "uint32_t", "b32")
        if same:
            code += " " + self.set(same, f"{self.value(target, 'b32')} != 0",
                                   "pred")
        return code

    def op_redux(self):
        self.take("sync")
        how = self.take("add", "min", "max", "and", "or", "xor")
        type_ = self.type()
        sign = "Signed" if how in ("min", "max") and is_signed(type_) else ""
        return self.warp_operation(
            f"{sign}{how.title()}", self.value(self.ops[1], "u32"),
            self.value(self.ops[2], "u32"), "uint32_t", "b32")

    def op_activemask(self):
        self.type()
        # Which other threads run just now is never promised.
        return self.set(self.ops[0], "1u << t.lane", "b32")

    def op_elect(self):
        self.take("sync")
        target, _, elected = self.ops[0].partition("|")
        mask = self.value(self.ops[1], "u32")
        code = (f"const uint32_t first_ = t.Warp(WarpOperation::kElect, 0, "
                f"{mask}, {self.line}); ")
        return (code + self.set(target, "first_", "b32") + " " +
                self.set(elected, "first_ == t.lane", "pred"))

    # Control.

    def op_bra(self):
        return f"goto {name_of(self.ops[0])};"

    def op_brx(self):
        self.take("idx")
        cases = " ".join(f"case {i}: goto {name_of(label)};" for i, label in
                         enumerate(self.tables[self.ops[1]]))
        return (f"switch ({self.value(self.ops[0], 'u32')}) {{ {cases} "
                f"default: t.Fail({self.line}, \"branch beyond its table\"); }}")

    def op_ret(self):
        return "return;"

    def op_exit(self):
        return "t.Exit();"

    def op_trap(self):
        return f"t.Fail({self.line}, \"trap\");"

    op_brkpt = op_trap

    def op_call(self):
        ops = list(self.ops)
        result = ops.pop(0)[1:-1].strip() if ops[0].startswith("(") else None
        name = ops.pop(0)
        args = split(ops.pop(0)[1:-1]) if ops else []
        if name == "__assertfail":
            texts = ", ".join(self.find(a)[1] for a in args[:3])
            return f"t.FailAssertion({self.line}, {texts});"
        if name not in self.callees:
            raise Error(f"call of {name}, which this file does not define")
        places = ["t"] + [f"(uint8_t*)({self.find(a)[1]})"
                          for a in ([result] if result else []) + args]
        return f"{self.callees[name]}({', '.join(places)});"

    # Declarations, and the whole function.

    def declare(self, line, text):
        if match := re.match(r"\.reg\s*\.(\w+)\s+(.*)$", text):
            if match[1] not in SIZES:
                raise Error(f"register of type .{match[1]}")
            # Registers of 8 bits hold 16.
            c = "bool" if match[1] == "pred" else \
                UNSIGNED[max(2, SIZES[match[1]])]
            type_ = "b16" if SIZES[match[1]] == 1 and match[1] != "pred" \
                else match[1]
            for name in split(match[2]):
                names = [name]
                if many := re.fullmatch(r"([%\w$]+)<(\d+)>", name):
                    names = [f"{many[1]}{i}" for i in range(int(many[2]))]
                for n in names:
                    self.scopes[-1][n] = type_
                value = " = 0" if len(self.scopes) == 1 else ""
                for i in range(0, len(names), 8):
                    self.out.append(f"{c} " + ", ".join(
                        name_of(n) + value for n in names[i:i + 8]) + ";")
        elif match := re.match(r"\.(local|param|shared)\b(.*)$", text):
            found = variable(match[2].strip())
            if match[1] == "shared":
                self.scopes[-1][found.name] = (
                    "shared", f"{self.shared[found.name]}u")
                return
            self.arrays += 1
            name = f"array{self.arrays}_"
            self.out.append(f"alignas({max(found.align, 16)}) uint8_t {name}"
                            f"[{max(found.size, 1)}];")
            if match[1] == "local":
                self.out.append(f"std::memset({name}, 0xcd, sizeof({name}));")
            self.scopes[-1][found.name] = (match[1], f"Address({name})")
        elif match := re.match(r'\.pragma\s+"used_bytes_mask\s+(\w+)"', text):
            self.used_bytes = match[1].rstrip("U") + "u"
        elif not text.startswith(".pragma"):
            raise Error("unknown directive")

    def statement(self, line, text):
        if text == "{":
            self.scopes.append({})
            self.out.append("{")
        elif text == "}":
            self.scopes.pop()
            self.out.append("}")
        elif text.endswith(":"):
            self.out.append(f"{name_of(text[:-1])}:;")
        elif text.startswith("."):
            self.declare(line, text)
        elif match := re.match(r"([\w$]+)\s*:\s*\.branchtargets\s+(.*)$", text):
            self.tables[match[1]] = split(match[2])
        else:
            self.out.append(self.instruction(line, text))

    def signature(self):
        f = self.function
        places = [f"uint8_t* {name_of(v.name)}" for v in f.result + f.params]
        return (f"static void {self.callees[f.name]}"
                f"({', '.join(['Thread& t'] + places)})")

    def translate(self):
        f = self.function
        for v in f.result + f.params:
            self.scopes[0][v.name] = ("param", f"Address({name_of(v.name)})")
        for line, text in f.statements:
            if match := re.match(r"([\w$]+)\s*:\s*\.branchtargets\s+(.*)$",
                                 text):
                self.tables[match[1]] = split(match[2])
        for line, text in f.statements:
            try:
                self.statement(line, text)
            except Error as error:
                raise Error(f"line {line}: {error}: {text}") from None
            except (IndexError, KeyError, ValueError, TypeError) as error:
                raise Error(f"line {line}: unknown form ({error!r}): {text}") \
                    from None
        body = "\n".join(self.out)
        return (f"{self.signature()} {{\nbool carry = false; (void)carry;\n"
                f"{body}\n}}\n")


def round_up(n, unit):
    return (n + unit - 1) // unit * unit


class Program:
    """The C++ of some of a module's entries."""

    def __init__(self, module, entries):
        self.module = module
        self.entries = entries
        self.declarations, self.bodies, self.table = [], [], []
        self.done = set()
        for number, entry in enumerate(entries):
            self.add(number, entry)

    def closure(self, entry):
        found, queue = {}, [entry]
        while queue:
            f = queue.pop()
            if f.name in found:
                continue
            found[f.name] = f
            queue += [self.module.functions[w] for w in f.words
                      if w in self.module.functions]
        return found

    def add(self, number, entry):
        functions = self.closure(entry)
        words = set().union(*(f.words for f in functions.values()))
        shared, top = {}, 0
        places = [v for n, (space, v) in self.module.variables.items()
                  if space == "shared" and n in words]
        for f in functions.values():
            places += f.shared
        for v in places:
            top = round_up(top, max(v.align, 16))
            shared[v.name] = top
            top += v.size
        top = round_up(top, 16)
        for n, (space, _) in self.module.variables.items():
            if space == "dynamic":
                shared[n] = top
        # Functions that name shared memory exist once for each entry.
        callees = {}
        for name, f in functions.items():
            own = any(w in shared for g in self.closure(f).values()
                      for w in g.words)
            callees[name] = name_of(name) + (f"_{number}" if own else "")
        for name, f in functions.items():
            if callees[name] in self.done:
                continue
            self.done.add(callees[name])
            t = Translator(self.module, f, shared, callees)
            self.bodies.append(t.translate())
            self.declarations.append(t.signature() + ";")
        params = ", ".join(["t"] + [f"p[{i}]"
                                    for i in range(len(entry.params))])
        sizes = ", ".join([str(p.size) for p in entry.params] or ["0"])
        fence = any(f.has_fence for f in functions.values())
        self.table.append(
            f'{{"{entry.name}", [](Thread& t, uint8_t* const* p) {{ (void)p; '
            f"{callees[entry.name]}({params}); }}, {{{sizes}}}, "
            f"{len(entry.params)}, {top}, {entry.max_threads}, "
            f"{'true' if fence else 'false'}}}")

    def variables(self, prefix, define):
        out = []
        used = set().union(*(f.words for f in self.module.functions.values()))
        for name, (space, v) in self.module.variables.items():
            if space not in ("global", "const") or name not in used:
                continue
            c, count = UNSIGNED[SIZES[v.type]], max(v.size // SIZES[v.type], 1)
            if not define:
                out.append(f"extern {c} {name_of(name)}[{count}];")
                continue
            values = []
            for value in v.values:
                if re.fullmatch(r"-?(0x[0-9a-fA-F]+|\d+)U?", value):
                    values.append(f"({c}){value.rstrip('U')}ull")
                elif match := re.fullmatch(r"0[fFdD]([0-9a-fA-F]+)", value):
                    values.append(f"0x{match[1]}ull")
                else:
                    raise Error(f"variable {name}: initial value {value}")
            out.append(f"alignas({max(v.align, 16)}) {c} {name_of(name)}"
                       f"[{count}] = {{{', '.join(values)}}};")
            out.append(f"static const VariableRegistrar {name_of(name)}_r"
                       f"({name_of(name)}, sizeof({name_of(name)}));")
        return out

    def text(self, prefix, first):
        files = ", ".join(f'{{{n}, "{path}"}}'
                          for n, path in sorted(self.module.files.items()))
        spans = sorted((f.line, f) for f in self.module.functions.values())
        lines, last = [], None
        for line, file, source in self.module.locations:
            i = bisect.bisect_right(spans, line, key=lambda s: s[0]) - 1
            own = i >= 0 and any(d.startswith(name_of(spans[i][1].name))
                                 for d in self.done)
            if source and own and (file, source) != last:
                lines.append(f"{{{line}, {file}, {source}}}")
                last = (file, source)
        table = ",\n    ".join(self.table)
        return "\n".join([
            '#include "tests/ptx/instructions.h"',
            '#include "tests/ptx/thread.h"',
            f"namespace ptx {{ namespace {prefix} {{",
            *self.variables(prefix, first),
            *self.declarations,
            *self.bodies,
            f"static const SourceFile kFiles[] = {{{files or '{0, 0}'}}};",
            f"static const SourceLine kLines[] = "
            f"{{{', '.join(lines) or '{0, 0, 0}'}}};",
            f"static const Kernel kKernels[] = {{\n    {table}}};",
            "static const KernelRegistrar registrar"
            "(kKernels, kFiles, kLines);",
            "} }", ""])


def translate(text, parts, prefix):
    """The C++ files of a module, one for each part."""
    module = Module(text)
    entries = [f for f in module.functions.values() if f.is_entry]
    shares = [[] for _ in range(parts)]
    sizes = [0] * parts
    for entry in sorted(entries, key=lambda f: -len(f.statements)):
        smallest = sizes.index(min(sizes))
        shares[smallest].append(entry)
        sizes[smallest] += len(entry.statements)
    out = []
    for i, share in enumerate(shares):
        if share:
            out.append(Program(module, share).text(prefix, i == 0))
        else:
            out.append("")
    return out


def main(arguments):
    source, outs = arguments[0], arguments[1:]
    with open(source) as file:
        text = file.read()
    prefix = "P_" + re.sub(r"\W", "_", outs[0])
    try:
        for path, code in zip(outs, translate(text, len(outs), prefix)):
            with open(path, "w") as file:
                file.write(code)
    except Error as error:
        sys.exit(f"{source}: {error}")


if __name__ == "__main__":
    main(sys.argv[1:])
