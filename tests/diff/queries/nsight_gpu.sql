select name, totalMemory from TARGET_INFO_GPU;
