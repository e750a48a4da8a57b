# fsr_embed_sql(OUTPUT FILES…): writes a .cc that defines fsr::Migrations() from numbered SQL files, so that a program
# needs no file beside it. A change of one of the files configures anew.
function(fsr_embed_sql output)
  set(entries "")
  foreach(file ${ARGN})
    get_filename_component(name ${file} NAME)
    if(NOT name MATCHES "^([0-9][0-9][0-9][0-9])_[a-z0-9_]+\\.sql$")
      message(FATAL_ERROR "${file}: a migration is named like 0002_what_it_does.sql")
    endif()
    math(EXPR version "1${CMAKE_MATCH_1} - 10000")
    file(READ ${file} sql)
    string(APPEND entries "    {${version}, \"${name}\", R\"fsr_sql(${sql})fsr_sql\"},\n")
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
  endforeach()
  file(CONFIGURE OUTPUT ${output} @ONLY CONTENT
    "// Generated from migrations/*.sql.\n#include \"server/store/migrate.h\"\n\nnamespace fsr {\nnamespace {\n
constexpr Migration kMigrations[] = {\n${entries}};\n\n}  // namespace\n
std::span<const Migration> Migrations() { return kMigrations; }\n\n}  // namespace fsr\n")
endfunction()
