# The console's files in the binary (src/console). They are built by esbuild (console/build.mjs) and kept in the
# repository, so that building the server needs no Node.js; `./dev console` checks that they are what the sources make.
option(STATOR_CONSOLE "embed the web console" ON)
set(STATOR_CONSOLE_DIST ${CMAKE_SOURCE_DIR}/console/dist CACHE PATH "folder of the built console")
set(console_files ${CMAKE_BINARY_DIR}/generated/console/console_files.cc)
if(STATOR_CONSOLE)
  if(NOT EXISTS ${STATOR_CONSOLE_DIST}/manifest.json)
    message(FATAL_ERROR "${STATOR_CONSOLE_DIST} has no built console: run `npm ci && npm run build` in console/, or "
                        "configure with -DSTATOR_CONSOLE=OFF")
  endif()
  find_program(GZIP_PROGRAM gzip REQUIRED)
  file(GLOB_RECURSE dist CONFIGURE_DEPENDS ${STATOR_CONSOLE_DIST}/*)
  set(console_from -DDIST=${STATOR_CONSOLE_DIST} -DGZIP_PROGRAM=${GZIP_PROGRAM})
else()
  set(dist "")
  set(console_from "")
endif()
add_custom_command(OUTPUT ${console_files}
  COMMAND ${CMAKE_COMMAND} ${console_from} -DOUT=${console_files} -P ${CMAKE_SOURCE_DIR}/cmake/console_files.cmake
  DEPENDS ${CMAKE_SOURCE_DIR}/cmake/console_files.cmake ${dist}
  COMMENT "Compressing the console" VERBATIM)
target_sources(room_console PRIVATE ${console_files})
