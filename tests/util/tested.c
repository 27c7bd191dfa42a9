// Nothing of its own: CMake wants one source file of a library, and the objects of this one are all
// libkaon's.
extern int kaon_tested_has_no_code_of_its_own;
