"""Files as texts in a program."""

def text_constants(name, files):
    """Makes name.cc, which defines the constants that the header name.h declares.

    Args:
      name: of the header in this package, without .h.
      files: what file each constant holds.
    """
    native.genrule(
        name = name,
        srcs = files.values(),
        outs = [name + ".cc"],
        cmd = "(echo '#include \"%s/%s.h\"'; echo 'namespace ps {'; " %
              (native.package_name(), name) +
              "".join([
                  "echo 'const char %s[] = R\"_gradsieve(' | tr -d '\\n'; " % constant +
                  "cat $(location %s); echo ')_gradsieve\";'; " % file
                  for constant, file in files.items()
              ]) + "echo '}') > $@",
    )
