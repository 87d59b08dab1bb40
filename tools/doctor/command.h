// `gradsieve doctor`: reports what this machine has, what it lacks, and what
// does not work because of that.
#ifndef TOOLS_DOCTOR_COMMAND_H_
#define TOOLS_DOCTOR_COMMAND_H_

namespace ps {

// argv[0] is "doctor". Returns the exit code: 0 if training on the CPU works.
int RunDoctorCommand(int argc, char** argv);

}  // namespace ps

#endif  // TOOLS_DOCTOR_COMMAND_H_
