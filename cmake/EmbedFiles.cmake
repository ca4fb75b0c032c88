# Writes OUTPUT, a source that holds FILES (a list with commas) as constants: g++ 12 has no #embed.
# A tag is made of what a file holds, so that whoever has asked before can tell whether it changed.
# @KEYMILL_VERSION@ in a file becomes VERSION.
set(bytes "")
set(rows "")
set(number 0)
string(REPLACE "," ";" FILES "${FILES}")
foreach(file IN LISTS FILES)
  cmake_path(GET file FILENAME name)
  file(READ ${file} text)
  string(REPLACE "@KEYMILL_VERSION@" "${VERSION}" text "${text}")
  if(text MATCHES "\\)keymill\"")
    message(FATAL_ERROR "${file} holds what ends a constant")
  endif()
  string(SHA256 tag "${text}")
  string(SUBSTRING ${tag} 0 16 tag)
  string(APPEND bytes "constexpr char kBytes${number}[] = R\"keymill(${text})keymill\";\n")
  string(APPEND rows "    {\"${name}\", \"\\\"${tag}\\\"\", {kBytes${number}, sizeof kBytes${number} - 1}},\n")
  math(EXPR number "${number} + 1")
endforeach()
file(WRITE ${OUTPUT} "#include \"${HEADER}\"

namespace {
${bytes}
constexpr keymill::EmbeddedFile kFiles[] = {
${rows}};
}  // namespace

std::span<const keymill::EmbeddedFile> ${FUNCTION}() { return kFiles; }
")
