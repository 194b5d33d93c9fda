package dev.genv.enforcer.files;

import java.io.IOException;
import java.nio.file.Path;

/** A file has more bytes than its reader accepts. */
public final class FileTooLargeException extends IOException {
    private static final long serialVersionUID = 1;

    FileTooLargeException(Path path, int largest) {
        super(path + " is longer than " + largest + " bytes");
    }
}
