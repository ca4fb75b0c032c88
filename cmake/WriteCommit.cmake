# Run at every build: writes OUTPUT, a source that knows the commit of SOURCE_DIR, if it changed.
# Packagers without a repository say it: cmake -DKEYMILL_COMMIT=…
if(NOT COMMIT)
  execute_process(COMMAND git -C ${SOURCE_DIR} describe --always --dirty --abbrev=12 --exclude=*
    OUTPUT_VARIABLE COMMIT OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
endif()
if(NOT COMMIT)
  set(COMMIT unknown)
endif()
set(text "#include \"app/cli.h\"\n\n\
std::string_view keymill::app::Commit() { return \"${COMMIT}\"; }\n")
if(EXISTS ${OUTPUT})
  file(READ ${OUTPUT} before)
endif()
if(NOT text STREQUAL before)
  file(WRITE ${OUTPUT} "${text}")
endif()
