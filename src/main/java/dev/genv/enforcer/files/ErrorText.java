package dev.genv.enforcer.files;

import java.io.IOException;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileSystemException;
import java.nio.file.NoSuchFileException;
import java.nio.file.NotDirectoryException;

/** The kernel's text of an error. Java's messages lack it for the most frequent errors, and name the path instead. */
public final class ErrorText {
    private ErrorText() {}

    /** Returns the text, without a path; the message of an error that is not the kernel's. */
    public static String of(IOException error) {
        return switch (error) {
            case Errno errno -> errno.text();
            case NoSuchFileException _ -> "No such file or directory";
            case AccessDeniedException _ -> "Permission denied";
            case NotDirectoryException _ -> "Not a directory";
            case FileSystemException other when other.getReason() != null -> other.getReason();
            default -> String.valueOf(error.getMessage());
        };
    }
}
