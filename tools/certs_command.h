// `gradsieve certs`: makes the certificates of a job.
#ifndef TOOLS_CERTS_COMMAND_H_
#define TOOLS_CERTS_COMMAND_H_

namespace ps {

// argv[0] is "certs". Returns the exit code.
int RunCertsCommand(int argc, char** argv);

}  // namespace ps

#endif  // TOOLS_CERTS_COMMAND_H_
